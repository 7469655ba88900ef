"""How much a repeated measurement differs, and which differences are larger.

One repeat is one draw of the noise, so the largest difference of any figure is
taken as the floor for all of them. Two values differ by how much the larger
exceeds the smaller, so that halving counts like doubling.
"""

from collections.abc import Sequence

from pdjax.metrics.conditions import comparable
from pdjax.report.groups import ReportedRun

FIGURES = {
    **{
        f"p{at}_{metric}_ms": f"{metric.upper()} p{at}"
        for metric in ("ttft", "tpot", "itl") for at in (50, 99)
    },
    "output_throughput": "tok/s",
}
"""Figures that are compared, and their names."""


def noise(runs: Sequence[ReportedRun]) -> str:
  """Two lines on a block with a repeat in it, else nothing."""
  pairs = _repeats(runs)
  if not pairs:
    return ""
  each = [
      (_apart(*values), figure, pair)
      for pair in pairs
      for figure, values in _figures(*pair).items()
  ]
  if not each:
    return ""
  floor, figure, (base, again) = max(each, key=lambda one: one[0])
  line = (
      f"noise: {again.label} differs from {base.label} by up to {floor:.0%}"
      f" ({FIGURES[figure]})"
  )
  repeated = {id(again) for _, again in pairs}
  others = [run for run in runs[1:] if id(run) not in repeated]
  said = "; ".join(filter(None, (_beyond(runs[0], r, floor) for r in others)))
  return f"{line}\nagainst {runs[0].label}: {said}" if said else line


def _beyond(base: ReportedRun, run: ReportedRun, floor: float) -> str:
  if comparable(base.conditions, run.conditions):
    return ""
  larger = [
      f"{FIGURES[figure]} {theirs / ours - 1:+.0%}"
      for figure, (ours, theirs) in _figures(base, run).items()
      if _apart(ours, theirs) > floor
  ]
  if not larger:
    return f"{run.label} within the noise"
  return f"{run.label} beyond it in {', '.join(larger)}"


def _repeats(
    runs: Sequence[ReportedRun],
) -> list[tuple[ReportedRun, ReportedRun]]:
  """Measured runs of one config: the first of them with each later one."""
  pairs = []
  for place, again in enumerate(runs):
    same = (
        run for run in runs[:place]
        if run.config is not None and run.config == again.config
    )
    first = next(same, None)
    if first and again.summary["kind"] == "measured":
      pairs.append((first, again))
  return pairs


def _figures(
    base: ReportedRun, run: ReportedRun
) -> dict[str, tuple[float, float]]:
  """The two values of each figure that both have."""
  return {
      name: (ours, theirs)
      for name in FIGURES
      if (ours := base.summary.get(name))
      and (theirs := run.summary.get(name))
  }


def _apart(ours: float, theirs: float) -> float:
  return max(ours, theirs) / min(ours, theirs) - 1
