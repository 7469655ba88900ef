"""A figure of a workload: panels side by side, one file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

_WIDTH_IN, _HEIGHT_IN = 4.2, 3.2
"""Of a panel."""


class Curve(Protocol):
  """A line of a panel."""

  @property
  def x(self) -> np.ndarray: ...
  @property
  def y(self) -> np.ndarray: ...
  @property
  def label(self) -> str: ...
  @property
  def dashed(self) -> bool: ...


class Panel(Protocol):
  """One set of axes."""

  @property
  def x(self) -> str: ...
  @property
  def y(self) -> str: ...
  @property
  def curves(self) -> Sequence[Curve]: ...
  @property
  def log_x(self) -> bool: ...


def draw(file: Path, title: str, panels: Sequence[Panel]) -> Path:
  """Writes a PNG and returns its path.

  Raises:
    OSError: it cannot be written.
  """
  from matplotlib.figure import Figure

  figure = Figure(
      figsize=(_WIDTH_IN * len(panels), _HEIGHT_IN), layout="constrained"
  )
  figure.suptitle(title)
  for place, panel in enumerate(panels, start=1):
    axes = figure.add_subplot(1, len(panels), place)
    for curve in panel.curves:
      axes.plot(
          curve.x, curve.y, "--" if curve.dashed else "-", label=curve.label
      )
    axes.set(xlabel=panel.x, ylabel=panel.y)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.legend()
    axes.grid(alpha=0.3)
  figure.savefig(file, dpi=120)
  return file
