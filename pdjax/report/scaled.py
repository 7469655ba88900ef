"""SLO attainment when all limits are tightened or loosened together."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pdjax.digits import plain
from pdjax.metrics.slo import Term, terms_of
from pdjax.report.capacity import Goodput
from pdjax.report.chart import Axis, Chart, Limit, Line, Panel
from pdjax.report.slolines import slo_of
from pdjax.report.study import Design, Study

_SCALES = np.geomspace(0.2, 5, 49)
_CHART = Chart(
    name="attainment_by_slo_scale", title="SLO attainment against SLO scale",
    answers="How tight could the limits be, at the load that was served?",
)


def chart(
    study: Study, designs: Sequence[Design], best: Sequence[Goodput]
) -> Chart:
  """Each design at the load of its goodput, judged again at every scale.

  Nothing is run again: limits change no decision.
  """
  head = dataclasses.replace(_CHART, kind=study.kind)
  terms = [t for t in terms_of(slo_of(study.slo)) if t.scope == "request"]
  if not terms:
    return dataclasses.replace(
        head, absent="the SLO has no term on single requests"
    )
  lines = tuple(_line(design, study, terms, best) for design in designs)
  level = 100 * study.slo["attainment"]
  panel = Panel(
      x=Axis(label="all limits times", log=True),
      y=Axis(label="requests that keep them (%)", low=0, high=103),
      marks=lines,
      limits=(
          Limit(along="y", at=level, label=f"{level:.0f} %"),
          Limit(along="x", at=1, label="as configured"),
      ),
  )
  return dataclasses.replace(head, panels=(panel,), notes=(
      "Legend names the rate per chip that each curve was served at.",
  ) if study.under_load else ())


def _line(
    design: Design, study: Study, terms: Sequence[Term],
    best: Sequence[Goodput],
) -> Line:
  at = next(
      (g.at for g in best if g.design.label == design.label), design.points[0]
  )
  shares = np.mean(
      [_attained(run.requests(), terms, study.slo["join"]) for run in at.runs],
      axis=0,
  )
  rate = f" at {plain(at.rate)}/s/chip" if np.isfinite(at.rate) else ""
  return Line(
      label=design.label + (rate if study.under_load else ""),
      style=design.style, x=_SCALES, y=100 * shares, marked=False,
  )


def _attained(
    rows: dict[str, Any], terms: Sequence[Term], join: str
) -> np.ndarray:
  """Shares at every scale."""
  finished = rows["state"] == "finished"
  wanted = max(int((rows["state"] != "aborted").sum()), 1)
  kept = []
  for term in terms:
    value_ns = rows[f"{term.metric}_ns"]
    # What has no value keeps its term; docs/metrics.md counts those.
    at = np.where(np.ma.getmaskarray(value_ns), 0, np.ma.getdata(value_ns))
    kept.append(at[:, None] <= _SCALES * term.limit_ns)
  if join == "each":
    return np.min([(k & finished[:, None]).sum(0) for k in kept], 0) / wanted
  good = np.logical_and.reduce(kept) & finished[:, None]
  return good.sum(0) / wanted
