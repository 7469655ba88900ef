"""The roofline of the runs of a report, from the prices of their steps."""

from collections.abc import Iterator, Sequence

from pdjax.config import ConfigError
from pdjax.report import roof
from pdjax.report.chart import Chart
from pdjax.report.record import Record
from pdjax.simulate import roofline
from pdjax.simulate.cluster import Cost, cluster_of
from pdjax.simulate.costs import AnalyticalCost

_MOST = 4
"""Panels."""


def chart(records: Sequence[tuple[str, Record]]) -> Chart:
  """A panel for each kind of worker, with mean steps of its phases.

  Args:
    records: (name, run) of each design shown, in the order of their styles.
  """
  kind = records[0][1].kind
  if kind != "simulated":
    return roof.chart(kind, (), "the peaks of measured devices are not known")
  roofs: dict[str, roof.Roof] = {}
  for style, (name, record) in enumerate(records):
    for roof_ in _roofs(name, style, record, crowded=len(records) > 3):
      roofs[roof_.title] = roof_.joined(roofs.get(roof_.title))
  return roof.chart(
      kind, list(roofs.values())[:_MOST],
      "steps are priced by a published profile, not by their work",
  )


def _roofs(
    name: str, style: int, record: Record, crowded: bool
) -> Iterator[roof.Roof]:
  """One of each kind of worker of a run."""
  try:
    costs = dict.fromkeys(cluster_of(record.asked).costs)
  except ConfigError:  # a file of weights or a profile is gone
    return
  for cost in costs:
    points = [*_prefill(cost, record), *_decode(cost, record)]
    if isinstance(cost, AnalyticalCost) and points:
      yield roof.Roof(
          title=f"{cost.layout.chips} x {cost.chip.name}",
          peak_flops=cost.peak_flops, bytes_per_s=cost.peak_bytes_per_s,
          steps=(roof.Steps(
              label=name, style=style,
              intensity=tuple(point.intensity for point in points),
              flops_per_s=tuple(point.flops_per_s for point in points),
              texts=tuple(point.label for point in points),
              written=not crowded,
          ),),
      )


def _prefill(cost: Cost, record: Record) -> list[roofline.Point]:
  tokens = record.summary.get("mean_prefill_tokens_per_step")
  if not tokens or not isinstance(cost, AnalyticalCost):
    return []
  return roofline.prefill_points(cost, [max(round(tokens), 1)])


def _decode(cost: Cost, record: Record) -> list[roofline.Point]:
  """Half of the answer is in the cache on average."""
  summary = record.summary
  batch, done = summary.get("mean_decode_batch"), summary["completed"]
  if not batch or not done or not isinstance(cost, AnalyticalCost):
    return []
  context = (
      summary["total_input_tokens"] + summary["total_output_tokens"] / 2
  ) / done
  return roofline.decode_points(cost, [max(round(batch), 1)], round(context))
