"""A run of ours: its breakdown says where the time goes, so little is guessed.

The mean finished request's time is shared out among causes. What waits comes
first: a cause that waits for a tenth of it is the verdict, the largest one;
with an SLO, a cause on the side that misses it, and a quarter of that side is
enough. A run in which little waits is bound by its own steps.
"""

from collections.abc import Mapping
from typing import Any

from pdjax.diagnose import missed
from pdjax.diagnose.advice import advice
from pdjax.diagnose.finding import CANNOT_TELL, NO_PROFILER, TITLES, Finding
from pdjax.diagnose.shares import Shares, shares_of
from pdjax.digits import plain

_OF_ALL = 0.1
"""Share of the mean end-to-end time that a wait needs to be the verdict."""
_OF_SIDE = 0.25
"""Share of TTFT, or of the rest, where that side misses its limit."""
_LATE = 0.3
"""Share of the mean TTFT that is the generator's lag."""
_IDLE = 0.3
"""Steps that use less of both compute and bandwidth are bound by neither."""


def diagnose(
    source: str, summary: Mapping[str, Any], mean_lag_ms: float
) -> Finding:
  """The finding of a run.

  Args:
    source: its name and kind, in words.
    summary: its `summary.json`.
    mean_lag_ms: of its finished requests, intended arrival to delivery.
  """
  notes = [f"flag: {flag}" for flag in summary["flags"]] + [NO_PROFILER]
  if not summary["completed"]:
    return Finding(
        source=source, verdict=CANNOT_TELL, notes=tuple(notes),
        evidence=("no request finished",),
    )
  shares = shares_of(summary, mean_lag_ms)
  verdict, evidence = _verdict(summary, shares)
  if summary.get("slo_met"):
    evidence.insert(0, "the SLO is met; what follows is where time goes still")
  elif summary.get("slo_met") is False:
    evidence.insert(0, missed.words(summary))
  where = {
      _PART_TITLES.get(cause, TITLES.get(cause, cause)): shares.of(cause)
      for cause in {**shares.first, **shares.later}
  }
  return Finding(
      source=source, verdict=verdict, evidence=tuple(evidence),
      where_ms=where, notes=tuple(notes), advice=advice(verdict, summary),
      share=_share(verdict, shares),
  )


def _share(verdict: str, shares: Shares) -> float | None:
  """What bounds decode steps has all of their time."""
  if verdict == CANNOT_TELL or not shares.total:
    return None
  bound = verdict in ("decode_bandwidth", "decode_compute")
  return shares.of("decode" if bound else verdict) / shares.total


_PART_TITLES = {
    "prefill": "prefill steps", "decode": "decode steps",
    "handover": "waiting for a turn on the decode worker",
    "generator": "lag of the load generator",
}


_MEMORY = ("p_memory", "p_place", "d_memory")
_WAITS = (
    "prefill_queue", "interference", "transfer", "decode_memory", "batch_limit",
)


def _verdict(
    summary: Mapping[str, Any], shares: Shares
) -> tuple[str, list[str]]:
  first_ms = sum(shares.first.values())
  lag = shares.first["generator"]
  if lag > _LATE * first_ms:
    return "generator", [
        f"{_of(lag, first_ms)} until the first token pass before the"
        " request reaches the scheduler"
    ]
  if (found := _by_missed_side(summary, shares)) is not None:
    return found
  cause = max(_WAITS, key=shares.of)
  if shares.of(cause) >= _OF_ALL * shares.total:
    return cause, [
        f"{_of(shares.of(cause), shares.total)} a request, more"
        " than any other wait",
        *_support(cause, summary),
    ]
  return _steps(summary, shares)


def _by_missed_side(
    summary: Mapping[str, Any], shares: Shares
) -> tuple[str, list[str]] | None:
  """What holds up the side that misses the SLO: a wait, or, where one side
  alone misses it, that side's steps. None where that is not told."""
  sides = [
      (words, side, sum(side.values()))
      for words, side in (
          ("until the first token", shares.first),
          ("after the first token", shares.later),
      )
      if missed.on_side(summary, side is shares.first)
  ]
  for words, side, side_ms in sides:
    cause = max(_WAITS, key=lambda c, side=side: side.get(c, 0.0))
    if side.get(cause, 0.0) >= _OF_SIDE * side_ms > 0:
      return cause, [
          f"the SLO is missed {words}, and {cause} is"
          f" {_of(side[cause], side_ms)} there",
          *_support(cause, summary),
      ]
  if len(sides) == 1 and sides[0][2] > 0:
    words, side, side_ms = sides[0]
    nothing = f"the SLO is missed {words}, and no wait is a quarter of that"
    if side is shares.first:
      return "prefill", [
          nothing,
          f"{_of(side['prefill'], side_ms)} are prefill steps",
      ]
    return _decode_steps(summary, shares, nothing)
  return None


def _of(part_ms: float | None, whole_ms: float | None) -> str:
  return f"{plain(part_ms or 0)} ms of {plain(whole_ms or 0)} ms"


def _support(cause: str, summary: Mapping[str, Any]) -> list[str]:
  """Figures that bear the cause out."""
  lines = {
      "prefill_queue": _worker_words(summary, ("P", "C")),
      "transfer": [
          f"a link is busy {_at_most(summary)}{summary['link_busy_share']:.0%}"
          " of the run; a hand-off leaves"
          f" {plain(summary['mean_transfer_ms'] or 0)} ms exposed beside"
          f" {plain(summary['mean_prefill_ms'] or 0)} ms of prefill"
      ],
      "decode_memory": [
          f"{summary['preemptions']} preemptions,"
          f" {summary['recomputed_prefill_tokens']} prompt tokens computed"
          " again;"
          f" {sum(summary[f'{wait}_requests'] for wait in _MEMORY)}"
          " waits for pages"
      ],
      "interference": [
          "prompts take"
          f" {_of(summary['mean_interference_ms'], summary['mean_decode_ms'])}"
          " of decode"
      ],
  }
  return lines.get(cause, [])


def _at_most(summary: Mapping[str, Any]) -> str:
  """Pages that leave layer by layer do so while others are computed."""
  return "at most " if summary["layered_transfers"] else ""


def _worker_words(
    summary: Mapping[str, Any], roles: tuple[str, ...]
) -> list[str]:
  return [
      f"{role} workers have steps under way {summary[name]:.0%} of the run"
      for role in roles
      if (name := f"compute_share[{role}]") in summary
  ]


def _steps(summary: Mapping[str, Any], shares: Shares) -> tuple[str, list[str]]:
  """No wait stands out: which steps take the time, and what bounds them."""
  nothing = "no wait takes a tenth of a request's time"
  decode, prefill = shares.of("decode"), shares.of("prefill")
  if prefill > decode:
    return "prefill", [
        nothing, f"{_of(prefill, shares.total)} are prefill steps"
    ]
  return _decode_steps(summary, shares, nothing)


def _decode_steps(
    summary: Mapping[str, Any], shares: Shares, nothing: str
) -> tuple[str, list[str]]:
  """What bounds steps of decodes; `nothing`: why no wait is the verdict."""
  decode = shares.of("decode")
  role = "D" if "mbu[D decode]" in summary else "C"
  busy = summary.get(f"compute_busy[{role} decode]")
  moved = summary.get(f"mbu[{role} decode]")
  if busy is None or moved is None:
    return CANNOT_TELL, [
        nothing, f"{_of(decode, shares.total)} are decode steps",
        summary.get("utilisation_unknown")
        or "no steps of decodes alone to judge by",
    ]
  used = f"of decode steps MBU is {moved:.0%}, compute-busy {busy:.0%}"
  if max(busy, moved) < _IDLE:
    return CANNOT_TELL, [
        nothing, f"{used}: neither bounds them, so overhead, latency of"
        " kernels or of collectives does",
    ]
  cause = "decode_bandwidth" if moved >= busy else "decode_compute"
  return cause, [
      nothing, f"{_of(decode, shares.total)} are decode steps",
      used,
  ]
