"""A run over time: what waits, what runs, what is free, what moves."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from pdjax.digits import plain
from pdjax.report.chart import Axis, Chart, Line, Panel
from pdjax.report.life import UNREAD, Life
from pdjax.report.study import Study
from pdjax.timeline.perfetto import link_rate

_POINTS = 400
"""Of a curve: one value of each stretch of time is kept."""
_PANELS = (
    ("queue", "waiting requests"), ("batch", "requests in a step"),
    ("free_pages", "free pages (%)"),
)


def chart(study: Study, label: str, life: Life | None) -> Chart:
  """Sums over the workers of each role, and the bytes on all links."""
  head = Chart(
      name="time_series", kind=study.kind, title=f"Over time: {label}",
      answers="Does a queue keep growing, and does memory run out?", wide=True,
  )
  if life is None:
    return dataclasses.replace(head, absent=UNREAD)
  if life.gauges is None or not len(life.gauges):
    return dataclasses.replace(
        head, absent="the log could not be replayed by this version",
    )
  panels = [
      Panel(
          title=title, x=_time(life),
          y=Axis(label="", low=0), marks=tuple(_lines(life, name)),
      )
      for name, title in _PANELS
  ]
  notes = [
      "Each value is the largest of its stretch of time, of free pages the"
      " smallest. Pages granted to steps that are yet to run are not free."
  ]
  if (waiting := _handed_off(life)) is not None:
    first = panels[0]
    panels[0] = dataclasses.replace(first, marks=(*first.marks, waiting))
    notes.append(
        "Waiting for D: prompts computed on P that have no place on D yet; they"
        " hold their pages on P."
    )
  if len(link_rate(life.activity, life.activity.links)[0]):
    panels.append(_links(life))
    notes.append(_link_note(life))
  return dataclasses.replace(head, panels=tuple(panels), notes=tuple(notes))


def _time(life: Life) -> Axis:
  return Axis(label="time (s)", low=0, high=life.activity.end_ns / 1e9)


def _lines(life: Life, name: str) -> Iterator[Line]:
  gauges = life.gauges
  assert gauges is not None
  table = getattr(gauges, name)
  for style, role in enumerate(_roles(life)):
    mine = [
        n for n, worker in enumerate(life.activity.names) if worker[0] == role
    ]
    values = table[:, mine].sum(1).astype(float)
    if name == "free_pages":
      values = 100 * values / max(values[0], 1)
    smallest = name == "free_pages"
    at_s, values = thinned(gauges.at_ns / 1e9, values, smallest=smallest)
    yield Line(
        label=f"{role} workers", style=style, x=at_s, y=values, steps=True,
        marked=False, dashed=False,
    )


def _handed_off(life: Life) -> Line | None:
  """What waits for a place on a D worker; None where nothing ever does."""
  gauges = life.gauges
  assert gauges is not None
  values = gauges.handoffs.sum(1).astype(float)
  if not values.any():
    return None
  at_s, values = thinned(gauges.at_ns / 1e9, values)
  return Line(
      label="waiting for D", style=len(_roles(life)), x=at_s, y=values,
      steps=True, marked=False, dashed=False,
  )


def _roles(life: Life) -> Sequence[str]:
  return list(dict.fromkeys(name[0] for name in life.activity.names))


def _links(life: Life) -> Panel:
  """All links together, in GB/s."""
  at_s, values = _mean_rate(life)
  return Panel(
      title="bytes on links", x=_time(life),
      y=Axis(label="GB/s", low=0), marks=(Line(
          label="all links", style=2, x=at_s, y=values / 1e9, steps=True,
          marked=False, dashed=False,
      ),),
  )


def _mean_rate(life: Life) -> tuple[np.ndarray, np.ndarray]:
  """(seconds, mean bytes per second from then on) of equal stretches."""
  times_ns, rate = link_rate(life.activity, life.activity.links)
  edges_ns = np.linspace(0, life.activity.end_ns, _POINTS + 1)
  moved = np.append(0, np.cumsum(rate[:-1] * np.diff(times_ns) / 1e9))
  by_edge = np.interp(edges_ns, times_ns, moved)
  mean = np.diff(by_edge) * 1e9 / np.diff(edges_ns)
  return edges_ns / 1e9, np.append(mean, 0.0)


def _link_note(life: Life) -> str:
  """How much of the run the mean hides, and how fast bytes went."""
  times_ns, rate = link_rate(life.activity, life.activity.links)
  carried = np.diff(times_ns)[rate[:-1] > 0].sum() / life.activity.end_ns
  return (
      "Bytes on links are the mean of a stretch: anything moved for"
      f" {plain(100 * carried, 2)} % of the run, at"
      f" {plain(rate.max() / 1e9)} GB/s at most, overlapping transfers taken"
      " together."
  )


def thinned(
    at: np.ndarray, values: np.ndarray, *, smallest: bool = False
) -> tuple[np.ndarray, np.ndarray]:
  """At most so many points: the extreme value of each stretch of time."""
  if len(at) <= _POINTS:
    return at, values
  edges = np.linspace(at[0], at[-1], _POINTS + 1)[:-1]
  first = np.searchsorted(at, edges)
  first = np.unique(first)
  kept = (np.minimum if smallest else np.maximum).reduceat(values, first)
  return at[first], kept
