"""A run over time: what waits, what runs, what is free, what moves."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from pdjax.report.chart import Axis, Chart, Line, Panel
from pdjax.report.life import UNREAD, Life
from pdjax.report.study import Study
from pdjax.timeline.perfetto import link_rate

_POINTS = 400
"""Of a curve: the largest value of each stretch is kept."""
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
  if life.activity.moved:
    panels.append(_links(life))
  return dataclasses.replace(head, panels=tuple(panels), notes=(
      "Each value is the largest of its stretch of time, of free pages the"
      " smallest. Pages granted to steps that are yet to run are not free.",
  ))


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


def _roles(life: Life) -> Sequence[str]:
  return list(dict.fromkeys(name[0] for name in life.activity.names))


def _links(life: Life) -> Panel:
  """All links together, in GB/s."""
  found = [link_rate(life.activity, link) for link in life.activity.links]
  at_ns = np.unique(np.concatenate([times for times, _ in found]))
  total = np.zeros(len(at_ns))
  for times, rate in found:
    place = np.searchsorted(times, at_ns, side="right") - 1
    total += np.where(place >= 0, rate[place], 0.0)
  at_s, values = thinned(at_ns / 1e9, total / 1e9)
  return Panel(
      title="bytes on links", x=_time(life),
      y=Axis(label="GB/s", low=0), marks=(Line(
          label="all links", style=2, x=at_s, y=values, steps=True,
          marked=False, dashed=False,
      ),),
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
