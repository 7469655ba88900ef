"""What `pdjax.fidelity` prints, draws and writes."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pdjax.calibrate.fidelity import Compared
from pdjax.cli.fidelity_choice import Choice
from pdjax.cli.fidelity_runs import Fidelity, Found
from pdjax.sweep import jsonfile


def lines(found: Fidelity) -> Iterator[str]:
  """A table a run, then the choices among the runs."""
  yield f"prices: {found.prices}"
  for one in found.runs:
    yield from _of_run(one)
  if len(found.runs) > 1:
    yield ""
    for choice in found.choices:
      yield from _decision(choice)
    if not found.choices:
      yield "no two designs ran under one contract: no choice to judge"


def _of_run(one: Found) -> Iterator[str]:
  off = np.abs(one.step_errors)
  yield ""
  yield (
      f"{one.label}: a step {100 * np.median(off):.1f} % off in the median,"
      f" {100 * np.quantile(off, 0.9):.0f} % at p90, bias"
      f" {100 * np.median(one.step_errors):+.1f} % ({len(off)} steps);"
      f" measured {one.repeats} time{'s' * (one.repeats > 1)}"
  )
  yield (
      f"  {'':<10}{'measured':>12}{'simulated':>12}{'error':>9}"
      f"{'steps unbiased':>16}{'noise floor':>13}"
  )
  rest = {(c.metric, c.percentile): c for c in one.unbiased}
  for figure in one.figures:
    at = (figure.metric, figure.percentile)
    few = figure.few and f" {figure.few}"
    yield (
        f"  {figure.metric + ' p' + str(figure.percentile):<10}"
        f"{figure.measured_ms:>9.1f} ms{figure.simulated_ms:>9.1f} ms"
        f"{figure.error:>+9.1%}{_error(rest.get(at)):>16}"
        f"{_share(one.noise.get(at)):>13}{few}"
    )
  yield from (f"  {note}" for note in one.notes)
  for name, (measured, simulated) in one.rates.items():
    error = f"{simulated / measured - 1:+.1%}" if measured else "-"
    yield f"  {name:<20}{measured:>10.3f}{simulated:>10.3f}{error:>9}"


def _error(figure: Compared | None) -> str:
  return "-" if figure is None else f"{figure.error:+.1%}"


def _share(noise: float | None) -> str:
  return "-" if noise is None else f"{noise:.1%}"


def _decision(choice: Choice) -> Iterator[str]:
  tau, lost = choice.rank_correlation, choice.lost
  yield (
      f"choice among {len(choice.designs)} designs under one contract, by"
      " goodput: rank correlation"
      f" {'needs three designs' if tau is None else f'{tau:.2f}'}, goodput lost"
      f" by the simulator's choice {'-' if lost is None else f'{lost:.1%}'}"
  )
  yield f"  {', '.join(choice.designs)}"


def write(found: Fidelity, folder: Path) -> list[Path]:
  """`fidelity.json` and a parity plot in `folder`."""
  jsonfile.write(folder / "fidelity.json", _plain(found))
  path = folder / "fidelity.png"
  _draw(found, path)
  return [folder / "fidelity.json", path]


def _plain(found: Fidelity) -> dict[str, Any]:
  return {
      "prices": found.prices,
      "choices": [
          {
              "designs": list(choice.designs),
              "rank_correlation": choice.rank_correlation,
              "goodput_lost": choice.lost,
          }
          for choice in found.choices
      ],
      "runs": [
          {
              "label": one.label,
              "figures": _rows(one.figures),
              "figures_steps_unbiased": _rows(one.unbiased),
              "repeats": one.repeats,
              "notes": list(one.notes),
              "noise": [
                  {"metric": at[0], "percentile": at[1], "noise": share}
                  for at, share in one.noise.items()
              ],
              "rates": {name: list(pair) for name, pair in one.rates.items()},
              "step_error_median": float(np.median(np.abs(one.step_errors))),
              "step_bias": float(np.median(one.step_errors)),
              "steps": len(one.step_errors),
          }
          for one in found.runs
      ],
  }


def _rows(figures: Sequence[Compared]) -> list[dict[str, Any]]:
  return [
      {
          "metric": figure.metric,
          "percentile": figure.percentile,
          "measured_ms": figure.measured_ms,
          "simulated_ms": figure.simulated_ms,
          "values": figure.values,
      }
      for figure in figures
  ]


def _short(prices: str, most: int = 60) -> str:
  return prices if len(prices) <= most else f"{prices[: most - 3]}..."


def _draw(found: Fidelity, path: Path) -> None:
  """Simulated over measured, both axes logarithmic; the diagonal is parity."""
  from matplotlib.figure import Figure

  figure = Figure(figsize=(4.2, 4.0), layout="constrained")
  axes = figure.subplots()
  for marker, one in zip(itertools.cycle("os^vDP*X"), found.runs):  # noqa: B905
    axes.loglog(
        [c.measured_ms for c in one.figures],
        [c.simulated_ms for c in one.figures],
        marker, label=one.label, fillstyle="none",
    )
  low, high = axes.get_xlim()
  axes.plot([low, high], [low, high], color="gray", linewidth=0.8)
  axes.set(
      xlabel="measured (ms)", ylabel="simulated (ms)",
      title=f"p50, p90, p99 of TTFT, TPOT, ITL, e2el\n{_short(found.prices)}",
  )
  axes.title.set_fontsize("small")
  axes.legend(fontsize="small")
  figure.savefig(path, dpi=150)
