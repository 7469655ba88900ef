"""Steps of two phases on a roofline, each named, no name on another."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pdjax.simulate.roofline import roof_flops_per_s


@dataclasses.dataclass(frozen=True, kw_only=True)
class Mark:
  """A step."""

  text: str
  intensity: float
  """Operations per byte."""
  flops_per_s: float
  fits: bool
  """In memory; else it is drawn hollow."""


Phases = Mapping[str, Sequence[Mark]]
"""By what their marks count."""


def draw(
    out: Path, title: str, peaks: tuple[int, int], phases: Phases
) -> None:
  """Writes roofline.png and roofline.svg.

  Args:
    out: folder of the two.
    title: of the picture.
    peaks: operations and bytes a second.
    phases: their steps.
  """
  import matplotlib

  matplotlib.use("Agg")
  matplotlib.rcParams["svg.hashsalt"] = "roofline"
  from matplotlib import pyplot

  figure = picture(title, peaks, phases)
  out.mkdir(parents=True, exist_ok=True)
  for suffix in ("png", "svg"):
    figure.savefig(out / f"roofline.{suffix}", metadata={"Date": None})
  pyplot.close(figure)


def picture(title: str, peaks: tuple[int, int], phases: Phases):
  """The figure itself."""
  from matplotlib import pyplot

  figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
  axes.set(
      xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="TFLOP/s",
      title=title,
  )
  _draw_roof(axes, peaks, [m.intensity for ms in phases.values() for m in ms])
  for index, (name, marks) in enumerate(phases.items()):
    _draw_phase(axes, name, marks, index)
  if not all(mark.fits for marks in phases.values() for mark in marks):
    axes.plot(
        [], [], "o", color="gray", markerfacecolor="white",
        label="hollow: does not fit in memory",
    )
  axes.legend(fontsize=8, loc="lower right")
  figure.draw_without_rendering()  # places the axes, so that texts have boxes
  _draw_texts(axes, phases)
  return figure


def _draw_roof(axes, peaks: tuple[int, int], seen: Sequence[float]) -> None:
  ridge = peaks[0] / peaks[1]
  ends = [min(0.5, *seen), ridge, 2 * max(ridge, *seen)]
  roof = [roof_flops_per_s(*peaks, each) / 1e12 for each in ends]
  axes.plot(ends, roof, color="black", label="roof (data sheet)")
  axes.axvline(ridge, color="gray", linestyle=":", label=f"ridge {ridge:.0f}")


def _draw_phase(
    axes, name: str, marks: Sequence[Mark], index: int
) -> None:
  x = [mark.intensity for mark in marks]
  y = [mark.flops_per_s / 1e12 for mark in marks]
  style = {"color": f"C{index}", "marker": "os"[index]}
  axes.plot(x, y, label=name, **style)
  for at_x, at_y, mark in zip(x, y, marks, strict=True):
    if not mark.fits:
      axes.plot([at_x], [at_y], markerfacecolor="white", **style)


def _draw_texts(axes, phases: Phases) -> None:
  """Beside each mark, the first place that is free of texts, marks and the
  legend: above for the first phase, below for the second."""
  taken = [*_mark_boxes(axes, phases), axes.get_legend().get_window_extent()]
  for index, marks in enumerate(phases.values()):
    for mark in marks:
      taken.append(_draw_text(axes, mark, index, taken))


def _mark_boxes(axes, phases: Phases) -> Iterator:
  from matplotlib.transforms import Bbox

  for marks in phases.values():
    for mark in marks:
      x, y = axes.transData.transform(
          (mark.intensity, mark.flops_per_s / 1e12)
      )
      yield Bbox.from_bounds(x - 4, y - 4, 8, 8)


def _draw_text(axes, mark: Mark, index: int, taken: Sequence):
  """Draws the text of a mark; returns its box."""
  from matplotlib.patheffects import withStroke

  text = axes.annotate(
      mark.text, (mark.intensity, mark.flops_per_s / 1e12), va="center",
      textcoords="offset points", xytext=(0, 0), color=f"C{index}", fontsize=8,
      ha="center", path_effects=[withStroke(linewidth=3, foreground="white")],
  )
  places = _places(-1 if index else 1)
  while any(map(text.get_window_extent().overlaps, taken)):  # at first its mark
    text.set_position(next(places))
  return text.get_window_extent()


def _places(side: int) -> Iterator[tuple[float, float]]:
  """Offsets in points, ever farther: over the mark (side 1) or under it (-1),
  beside it, and on its other side."""
  for away in itertools.count(9, 3):
    for right, up in ((-0.9, 1), (-1.6, 0), (1.6, 0), (0.9, -1)):
      yield side * right * away, side * up * away
