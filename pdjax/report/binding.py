"""What binds a split: by what its SLO misses, with the rule of `diagnose`.

Not by who is busier: a decode worker is busy while anyone decodes at all.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from pdjax.diagnose.finding import PHASES
from pdjax.diagnose.ours import diagnose
from pdjax.report.record import Record
from pdjax.report.study import Design, Point


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Binding:
  """Of one design, at the lowest load at which it misses the SLO."""

  phase: str
  """One of `PHASES`; empty where the SLO is kept at every load."""
  because: str = ""
  """The verdict and what speaks for it."""


def binding(design: Design) -> Binding:
  """By the runs of most seeds."""
  missed = [point for point in design.points if point.met() is False]
  if not missed and any(point.met() for point in design.points):
    return Binding(phase="")
  point = missed[0] if missed else design.points[-1]
  found = [
      diagnose("", run.summary, _mean_lag_ms(run)) for run in _judged(point)
  ]
  phases = Counter(PHASES[each.verdict] for each in found)
  (phase, _), *_ = phases.most_common(1)
  one = next(each for each in found if PHASES[each.verdict] == phase)
  because = one.evidence[1 if missed and len(one.evidence) > 1 else 0]
  return Binding(phase=phase, because=f"{one.verdict}: {because}")


def words(bindings: Sequence[tuple[str, Binding]]) -> Iterator[str]:
  """Of splits by name: those that miss the SLO, then those that keep it."""
  for name, one in bindings:
    if one.phase:
      yield f"{name}: {one.phase} ({one.because})"
  kept = [name for name, one in bindings if not one.phase]
  if kept:
    verb = "keeps" if len(kept) == 1 else "keep"
    yield f"{', '.join(kept)} {verb} the SLO, so nothing does"


def _judged(point: Point) -> list[Record]:
  """Runs that miss the SLO themselves, where some do."""
  missed = [run for run in point.runs if run.summary.get("slo_met") is False]
  return missed or list(point.runs)


def _mean_lag_ms(run: Record) -> float:
  """Of finished requests; simulated ones are never late."""
  if run.kind == "simulated":
    return 0.0
  columns = run.requests()
  done = columns["state"] == "finished"
  return float(np.mean(columns["lag_ns"][done])) / 1e6 if done.any() else 0.0
