"""From steps seen to a calibration: fit, steps left out, spread, range.

Every second step is fitted and the others are kept to tell the error. The
spread is a bootstrap's: the fit repeated on steps drawn with replacement, 40
times, seeded. (Efron, The Annals of Statistics, 1979.)

Units: `_ps` picoseconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pdjax.calibrate.fit import fit_cost, fit_link, spread, step_errors
from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.simulate.fittedcost import COPIES, PRICES, FittedCost, Padding
from pdjax.simulate.profiles.calibrated import VERSION, VERSION_KEY
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.sharing import NEIGHBOURS

RESAMPLES = 40


def calibration(
    steps: Sequence[StepSeen],
    transfers: Sequence[TransferSeen],
    *,
    kv_bytes_per_token: int,
    padding: Padding,
    model: str,
    tp: int,
    made_by: Mapping[str, Any],
    shared: bool = False,
) -> dict[str, Any]:
  """What a calibration file holds; `profiles.calibrated` reads it.

  `shared`: the workers were parts of one host, or shared one device.

  Raises:
    ValueError: no step was seen.
  """
  fitted, held_out = steps[::2], steps[1::2] or steps
  cost = fit_cost(
      fitted, transfers, kv_bytes_per_token, padding, shared=shared
  )
  errors = [*_errors(cost, held_out)]
  alone, *rises = cost.prices(), cost.sharing.prompts, cost.sharing.decodes
  alone_spread, *rises_spread = map(
      _relative, spread(cost, fitted, shared, RESAMPLES), (alone, *rises)
  )
  return {
      VERSION_KEY: VERSION,
      "model": model,
      "tp": tp,
      "accuracy": _accuracy(errors, made_by),
      "prices": dict(zip(PRICES, alone, strict=True)),
      "spread": dict(zip(PRICES, alone_spread, strict=True)),
      "sharing": _by_kind(rises),
      "sharing_spread": _by_kind(rises_spread),
      "copies": {name: getattr(cost, name) for name in COPIES},
      "kv_bytes_per_token": kv_bytes_per_token,
      "link": _link(transfers) if transfers else None,
      "padding": {
          "sequences": list(padding.sequences),
          "prompt_tokens": list(padding.prompt_tokens),
      },
      "range": _range(steps),
      "errors": errors,
      "steps_fitted": len(fitted),
      "steps_held_out": len(held_out),
      "transfers": len(transfers),
      "made_by": dict(made_by),
  }


def kind_of(step: StepSeen) -> str:
  """prefill, decode or mixed."""
  if not step.shape.prefill:
    return "decode"
  return "mixed" if step.shape.decode_seqs else "prefill"


def _errors(
    cost: FittedCost, steps: Sequence[StepSeen]
) -> Iterator[dict[str, Any]]:
  """By kind of step, and of all: size of the errors, and their direction."""
  for kind in ("prefill", "decode", "mixed", "all"):
    some = [s for s in steps if kind in ("all", kind_of(s))]
    if some:
      off = step_errors(cost, some)
      yield {
          "kind": kind,
          "steps": len(some),
          "median": float(np.median(np.abs(off))),
          "p90": float(np.quantile(np.abs(off), 0.9)),
          "bias": float(np.median(off)),
      }


def _accuracy(
    errors: Sequence[Mapping[str, Any]], made_by: Mapping[str, Any]
) -> str:
  every = errors[-1]
  return (
      f"fitted to this engine on {made_by.get('device', 'one device')}; on"
      f" {every['steps']} steps left out {100 * every['median']:.1f} % off in"
      f" the median, {100 * every['p90']:.0f} % at p90"
  )


def _link(transfers: Sequence[TransferSeen]) -> dict[str, Any]:
  link = fit_link(transfers)
  return {
      "bandwidth_bytes_per_s": link.bandwidth_bytes_per_s,
      "latency_s": link.latency_ps / PS_PER_S,
  }


def _by_kind(rises: Iterable[Sequence[Any]]) -> dict[str, dict[str, Any]]:
  """Something of each price's rise, by kind of neighbour and by name."""
  return {
      kind: dict(zip(PRICES, values, strict=True))
      for kind, values in zip(NEIGHBOURS, rises, strict=True)
      if any(values)
  }


def _relative(
    deviations: Sequence[float], values: Sequence[int]
) -> list[float | None]:
  """One standard deviation of each value, over the value; None of 0."""
  return [
      float(deviation) / value if value else None
      for deviation, value in zip(deviations, values, strict=True)
  ]


def _range(steps: Sequence[StepSeen]) -> dict[str, int]:
  """The largest of each that was seen; see `profiles.calibrated.Range`."""
  shapes = [step.shape for step in steps]
  chunks = [chunk for shape in shapes for chunk in shape.prefill]
  return {
      "prompt_tokens": max(
          sum(tokens for tokens, _ in shape.prefill) for shape in shapes
      ),
      "cached_tokens": max((cached for _, cached in chunks), default=0),
      "sequences": max(shape.decode_seqs for shape in shapes),
      "context_tokens": max(shape.decode_context_tokens for shape in shapes),
  }
