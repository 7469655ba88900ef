"""The requests themselves: when they came, how long they were."""

import dataclasses

import numpy as np

from pdjax.report.chart import Axis, Chart, Line, Panel
from pdjax.report.study import Study

_BINS = 30


def chart(study: Study) -> Chart:
  """Histograms of lengths and of gaps between arrivals, of one run."""
  head = Chart(
      name="workload", kind=study.kind, title="Workload",
      answers="What was asked of every design?",
  )
  run = study.runs[0]
  rows = run.requests()
  if not len(rows["request"]):
    return dataclasses.replace(head, absent="no request was measured")
  arrival_s = np.sort(np.ma.getdata(rows["arrival_ns"])) / 1e9
  panels = [
      _histogram("prompt", rows["prompt_tokens"], "prompt tokens"),
      _histogram("answer", rows["max_tokens"], "declared answer tokens"),
  ]
  gaps_s = np.diff(arrival_s)
  if (gaps_s > 0).any():
    panels += [
        _histogram("gaps", gaps_s * 1e3, "time between arrivals (ms)"),
        _arrivals(arrival_s),
    ]
  return dataclasses.replace(head, panels=tuple(panels), notes=(
      f"Requests of {run.label}; every run of one load and seed has the same.",
  ))


def _histogram(title: str, values: np.ndarray, label: str) -> Panel:
  """Counts in bins that are even on a logarithmic axis if values spread."""
  values = np.ma.getdata(values).astype(float)
  values = values[values > 0]
  log = bool(len(values)) and values.max() > 20 * values.min()
  if log:
    edges = np.geomspace(values.min(), values.max() * 1.0001, _BINS + 1)
  else:
    edges = np.linspace(values.min(initial=0), values.max(initial=1) + 1e-9,
                        min(_BINS, max(2, len(set(values.tolist())))) + 1)
  counts, _ = np.histogram(values, edges)
  return Panel(
      title=title, x=Axis(label=label, log=log),
      y=Axis(label="requests", low=0), marks=(Line(
          label="", style=0, x=np.repeat(edges, 2)[:-1],
          y=np.append(0, np.repeat(counts, 2)).astype(float), marked=False,
      ),),
  )


def _arrivals(arrival_s: np.ndarray) -> Panel:
  edges = np.linspace(arrival_s[0], arrival_s[-1], 61)
  counts, _ = np.histogram(arrival_s, edges)
  return Panel(
      title="rate", x=Axis(label="time (s)"),
      y=Axis(label="arrivals/s", low=0), marks=(Line(
          label="", style=0, x=edges[:-1],
          y=counts / (edges[1] - edges[0]), marked=False, steps=True,
      ),),
  )
