"""Steps on the roofline of the chips that they were priced for."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from pdjax.report.chart import Axis, Chart, Limit, Line, Panel

_CHART = Chart(
    name="roofline", title="Roofline",
    answers="Are prefill and decode bound by compute or by bandwidth?",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
  """Steps of one phase, one a design: FLOP per byte, FLOP per second."""

  label: str
  style: int
  intensity: tuple[float, ...]
  flops_per_s: tuple[float, ...]
  texts: tuple[str, ...]

  def plus(self, other: "Steps") -> "Steps":
    return dataclasses.replace(
        self, intensity=self.intensity + other.intensity,
        flops_per_s=self.flops_per_s + other.flops_per_s,
        texts=self.texts + other.texts,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Roof:
  """What a worker's chips can do at most, and steps of its phases."""

  title: str
  peak_flops: float
  bytes_per_s: float
  steps: tuple[Steps, ...]

  def joined(self, other: "Roof | None") -> "Roof":
    """The steps of both under one roof."""
    found = {steps.label: steps for steps in (other.steps if other else ())}
    for steps in self.steps:
      before = found.get(steps.label)
      found[steps.label] = before.plus(steps) if before else steps
    return dataclasses.replace(self, steps=tuple(found.values()))


def chart(kind: str, roofs: Sequence[Roof], absent: str = "") -> Chart:
  """A panel for each kind of worker."""
  head = dataclasses.replace(_CHART, kind=kind)
  if not roofs:
    return dataclasses.replace(head, absent=absent)
  return dataclasses.replace(
      head, panels=tuple(map(_panel, roofs)), notes=(
          "Steps have the mean size that the run had; prices are the cost"
          " model's, the roof the data sheet's.",
      ),
  )


def _panel(roof: Roof) -> Panel:
  ridge = roof.peak_flops / roof.bytes_per_s
  points = [i for steps in roof.steps for i in steps.intensity]
  at = np.array([
      min([ridge / 10, *points]) / 2, ridge, max([ridge * 4, *points]) * 2,
  ])
  lines = [Line(
      label="data sheet", style=6, x=at, marked=False, dashed=False,
      y=np.minimum(roof.peak_flops, at * roof.bytes_per_s) / 1e12,
  )]
  lines += [
      Line(
          label=steps.label, style=steps.style, x=np.array(steps.intensity),
          y=np.array(steps.flops_per_s) / 1e12, joined=False,
          texts=steps.texts,
      )
      for steps in roof.steps
  ]
  return Panel(
      title=roof.title, x=Axis(label="FLOP per byte", log=True),
      y=Axis(label="TFLOP/s of a worker", log=True), marks=tuple(lines),
      limits=(Limit(along="x", at=ridge, label=f"ridge {ridge:.0f}"),),
  )
