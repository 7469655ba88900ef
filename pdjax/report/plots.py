"""Figures for print and screen: latency distributions of several runs.

Each figure is written as PNG and SVG. Colours are those of Okabe and Ito
(2008), told apart by colour-blind readers; dashes tell runs apart in grey. Same
data, same bytes: nothing in a file depends on the date.
"""

import dataclasses
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pdjax.config import SLO
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.slo import terms_of
from pdjax.metrics.weighted import Weighted

if TYPE_CHECKING:
  from matplotlib.axes import Axes
  from matplotlib.figure import Figure

PANELS = {
    "ttft": "time to first token (ms)",
    "tpot": "time per output token (ms)",
    "itl": "gap between tokens (ms)",
}

_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
)
_DASHES = (
    "-", (0, (5, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (3, 3)),
    (0, (1, 2.5)), (0, (8, 2, 1, 2, 1, 2)),
)
_POINTS = 2000
"""Of a curve; more would not be seen and would swell the SVG."""
_WIDTH_IN, _HEIGHT_IN, _LINE_IN = 10, 3.4, 0.2
"""Of a figure without its legend, and of a line of that, inches."""
_LINE_LETTERS, _SAMPLE_LETTERS = 105, 12
"""What a line of the legend holds, and what a sample of a curve takes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LatencySeries:
  """One run's distributions, in nanoseconds."""

  label: str
  kind: str
  """`measured` or `simulated`."""
  samples: dict[str, Weighted]
  flagged: bool = False
  style: int | None = None
  """Number of its colour and dashes, the same in all figures of an experiment;
  None takes its place in the figure."""

  @classmethod
  def of(
      cls,
      label: str,
      kind: str,
      table: RequestTable,
      *,
      flagged: bool = False,
      style: int | None = None,
  ) -> "LatencySeries":
    samples = {metric: table.sample(metric) for metric in PANELS}
    return cls(
        label=label, kind=kind, samples=samples, flagged=flagged, style=style
    )


def latency_cdfs(
    series: Sequence[LatencySeries], slo: SLO, stem: Path, title: str = ""
) -> list[Path]:
  """Draws the CDFs of TTFT, TPOT and ITL with the SLO's limits.

  Args:
    series: one per run, at most seven.
    slo: whose limits on these metrics are drawn as vertical lines.
    stem: path of the files without suffix.
    title: what the runs have in common; the kind is put before it.

  Returns:
    The files written.

  Raises:
    ValueError: more runs than can be told apart.
  """
  if len(series) > len(_COLOURS):
    raise ValueError(f"{len(series)} runs, at most {len(_COLOURS)} in a figure")
  from matplotlib.figure import Figure

  names = _names(series)
  columns = _legend_columns(names)
  lines = -(-len(names) // columns) * max(n.count("\n") + 1 for n in names)
  height_in = _HEIGHT_IN + _LINE_IN * lines
  figure = Figure(figsize=(_WIDTH_IN, height_in), layout="constrained")
  axes = figure.subplots(1, len(PANELS), sharey=True)
  for panel, metric in zip(axes, PANELS, strict=True):
    _draw_panel(panel, metric, series, names)
    _draw_limits(panel, metric, slo)
    _log_axis(panel)
  axes[0].set_ylabel("share of requests")
  axes[2].set_ylabel("share of gaps")
  handles, labels = axes[0].get_legend_handles_labels()
  figure.legend(
      handles, labels, loc="outside lower center", ncols=columns,
      frameon=False, handlelength=4,
  )
  kinds = " and ".join(dict.fromkeys(run.kind.upper() for run in series))
  heading = ": ".join(filter(None, (kinds, title)))
  figure.suptitle(textwrap.fill(heading, 110), fontsize=10)
  return _save(figure, stem)


def _names(series: Sequence[LatencySeries]) -> list[str]:
  """What the legend calls each run, on several lines if it is long."""
  mixed = len({run.kind for run in series}) > 1
  names = []
  for run in series:
    notes = [run.kind] if mixed else []
    notes += ["flagged"] if run.flagged else []
    name = f"{run.label} ({', '.join(notes)})" if notes else run.label
    names.append(textwrap.fill(name, _LINE_LETTERS - _SAMPLE_LETTERS))
  return names


def _legend_columns(names: Sequence[str]) -> int:
  """As many as fit beside each other."""
  longest = max(len(line) for name in names for line in name.splitlines())
  fit = _LINE_LETTERS // (longest + _SAMPLE_LETTERS)
  return max(1, min(fit, len(names)))


def _draw_panel(
    panel: "Axes",
    metric: str,
    series: Sequence[LatencySeries],
    names: Sequence[str],
) -> None:
  panel.set_xscale("log")
  for place, (run, name) in enumerate(zip(series, names, strict=True)):
    style = place if run.style is None else run.style
    turn = style // len(_COLOURS)
    values_ms, share = cdf(run.samples[metric])
    panel.plot(
        values_ms, share, label=name, color=_COLOURS[style % len(_COLOURS)],
        linestyle=_DASHES[(style + turn) % len(_DASHES)], linewidth=1.8,
        drawstyle="steps-post", alpha=0.6 if run.flagged else 1,
    )
  panel.set_ylim(0, 1)
  panel.set_xlabel(PANELS[metric])
  panel.grid(True, which="major", color="0.88", linewidth=0.6)
  panel.spines[["top", "right"]].set_visible(False)


def _log_axis(panel: "Axes") -> None:
  """A logarithmic axis with plain numbers, as many as have room."""
  from matplotlib.ticker import (
      FuncFormatter,
      LogLocator,
      MaxNLocator,
      NullFormatter,
  )

  low, high = panel.get_xlim()
  if high < 5 * low:  # may hold but one of 1, 2 and 5
    panel.xaxis.set_major_locator(MaxNLocator(4, steps=(1, 2, 5, 10)))
  else:
    subs = (1, 2, 5) if high < 150 * low else (1,)
    panel.xaxis.set_major_locator(LogLocator(subs=subs))
  panel.xaxis.set_major_formatter(FuncFormatter(lambda ms, _: f"{ms:g}"))
  panel.xaxis.set_minor_formatter(NullFormatter())


def _draw_limits(panel: "Axes", metric: str, slo: SLO) -> None:
  """A vertical line at each limit, named above the panel, where no curve is;
  run terms also where they must hold."""
  own = [term for term in terms_of(slo) if term.metric == metric]
  for place, term in enumerate(own):
    limit_ms = term.limit_s * 1e3
    panel.axvline(limit_ms, color="0.25", linewidth=1, linestyle=(0, (2, 2)))
    panel.annotate(
        f"SLO {term}", (limit_ms, 1), xytext=(0, 2 + 8 * place),
        xycoords=("data", "axes fraction"), textcoords="offset points",
        ha="center", va="bottom", fontsize=7, color="0.25",
    )
    if term.statistic[1:].isdigit():
      panel.plot(
          limit_ms, float(term.statistic[1:]) / 100, marker="x", color="0.25"
      )


def cdf(sample: Weighted) -> tuple[np.ndarray, np.ndarray]:
  """Values in milliseconds and the share at or under each, thinned."""
  if not sample.total:
    return np.empty(0), np.empty(0)
  share = np.cumsum(sample.count) / sample.total
  keep = np.unique(
      np.searchsorted(share, np.linspace(0, 1, min(_POINTS, len(share))))
      .clip(max=len(share) - 1)
  )
  values_ms = sample.values[keep] / 1e6
  # From nothing, straight up at the smallest value.
  return np.append(values_ms[0], values_ms), np.append(0, share[keep])


def _save(figure: "Figure", stem: Path) -> list[Path]:
  import matplotlib

  paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
  stem.parent.mkdir(parents=True, exist_ok=True)
  with matplotlib.rc_context({"svg.hashsalt": "pdjax"}):
    figure.savefig(paths[0], dpi=160, metadata={"Software": None})
    figure.savefig(paths[1], metadata={"Date": None, "Creator": None})
  return paths
