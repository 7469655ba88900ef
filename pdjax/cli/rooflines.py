"""The roofline of the runs of a report, from the prices of their steps."""

from collections.abc import Iterator, Sequence

from pdjax.config import ConfigError
from pdjax.report import roof
from pdjax.report.chart import Chart
from pdjax.report.record import Record
from pdjax.simulate import roofline
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.costs import AnalyticalCost

_MOST = 4
"""Panels."""


def chart(records: Sequence[tuple[str, Record]]) -> Chart:
  """A panel for each kind of worker, with mean steps of its phases.

  Args:
    records: (name, run) of each design shown.
  """
  kind = records[0][1].kind
  if kind != "simulated":
    return roof.chart(kind, (), "the peaks of measured devices are not known")
  roofs: dict[str, roof.Roof] = {}
  for name, record in records:
    for roof_ in _roofs(name, record):
      roofs[roof_.title] = roof_.joined(roofs.get(roof_.title))
  return roof.chart(
      kind, list(roofs.values())[:_MOST],
      "steps are priced by a published profile, not by their work",
  )


def _roofs(name: str, record: Record) -> Iterator[roof.Roof]:
  """One of each kind of worker of a run."""
  try:
    costs = dict.fromkeys(cluster_of(record.asked).costs)
  except ConfigError:  # a file of weights or a profile is gone
    return
  for cost in costs:
    if isinstance(cost, AnalyticalCost):
      phases = (_prefill(cost, record), _decode(cost, record))
      yield roof.Roof(
          title=f"{cost.layout.chips} x {cost.chip.name}",
          peak_flops=cost.peak_flops, bytes_per_s=cost.peak_bytes_per_s,
          steps=tuple(
              _steps(name, phase, style, points)
              for style, (phase, points) in enumerate(
                  zip(("prefill", "decode"), phases, strict=True)
              )
              if points
          ),
      )


def _steps(
    name: str, phase: str, style: int, points: Sequence[roofline.Point]
) -> roof.Steps:
  return roof.Steps(
      label=f"{phase} steps", style=style,
      intensity=tuple(point.intensity for point in points),
      flops_per_s=tuple(point.flops_per_s for point in points),
      texts=tuple(f"{name}, {point.label}" for point in points),
  )


def _prefill(cost: AnalyticalCost, record: Record) -> list[roofline.Point]:
  tokens = record.summary.get("mean_prefill_tokens_per_step")
  if not tokens:
    return []
  return roofline.prefill_points(cost, [max(round(tokens), 1)])


def _decode(cost: AnalyticalCost, record: Record) -> list[roofline.Point]:
  """Half of the answer is in the cache on average."""
  summary = record.summary
  batch, done = summary.get("mean_decode_batch"), summary["completed"]
  if not batch or not done:
    return []
  context = (
      summary["total_input_tokens"] + summary["total_output_tokens"] / 2
  ) / done
  return roofline.decode_points(cost, [max(round(batch), 1)], round(context))
