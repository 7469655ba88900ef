"""How fine a run's figures are, whom they leave out, and what is in them.

Calmer than the flags (`pdjax.metrics.flags`): nothing is wrong.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pdjax.config import SLO
from pdjax.digits import plain
from pdjax.metrics.batches import LEAST_REQUESTS
from pdjax.metrics.mishaps import HARMS
from pdjax.metrics.percentiles import TAIL, needed
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.warmup import mser5

VACUOUS_SHARE = 0.01
"""Requests that keep a term without a sample are told of from this share on."""


def notes(
    table: RequestTable, summary: Mapping[str, Any], slo: SLO
) -> list[str]:
  """Sentences on a summary; `table` has the measured requests."""
  return [
      *(_unsteady(table) if table.window else ()), *_given_up(summary),
      *_cut(summary), *_broken(summary), *_refused(summary),
      *_vacuous(summary), *_layered(summary),
      *_few(summary, slo),
  ]


def _unsteady(table: RequestTable) -> list[str]:
  order = np.argsort(table["arrival_ns"], kind="stable")
  ttft_ns = np.ma.compressed(table["ttft_ns"][order])
  if len(ttft_ns) < LEAST_REQUESTS or mser5(ttft_ns) is not None:
    return []
  return ["MSER-5 finds no steady part of the TTFTs in the window"]


def _given_up(summary: Mapping[str, Any]) -> Iterator[str]:
  if summary["aborted"]:
    yield f"{summary['aborted']} requests given up by their clients, in no SLO"


def _cut(summary: Mapping[str, Any]) -> Iterator[str]:
  if cut := summary.get("answers_cut"):
    yield f"{cut} of {summary['completed']} answers cut by max_tokens"


def _broken(summary: Mapping[str, Any]) -> Iterator[str]:
  """What went wrong on purpose."""
  harms = {kind: summary[f"transfers_{kind}"] for kind in HARMS}
  told = [
      f"{_many(count, 'transfer')} {kind}"
      for kind, count in harms.items() if count
  ]
  if lost := summary["workers_lost"]:
    away_s = summary["worker_lost_s"]
    told.append(f"{_many(lost, 'worker')} lost for {plain(away_s)} s in all")
  if told:
    yield f"faults: {', '.join(told)}"


def _many(count: int, what: str) -> str:
  return f"{count} {what}{'s' if count != 1 else ''}"


def _refused(summary: Mapping[str, Any]) -> Iterator[str]:
  for at in (99, 90):
    names = [
        name.removeprefix(f"p{at}_").removesuffix("_ms")
        for name in summary["refused"]
        if name.startswith(f"p{at}_")
    ]
    if names:
      yield (
          f"no p{at} of {', '.join(names)}: it needs {needed(at)} values,"
          f" {summary['completed']} requests completed"
      )


def _vacuous(summary: Mapping[str, Any]) -> Iterator[str]:
  """Terms of the SLO that requests keep because nothing can break them."""
  judged = summary["sent"] - summary["aborted"]
  for name, count in summary.items():
    if name.startswith("slo_vacuous[") and count >= VACUOUS_SHARE * judged > 0:
      metric = name.removeprefix("slo_vacuous[").partition(" ")[0]
      yield (
          f"SLO: {count} of {judged} requests pass {metric} without a sample"
      )


def _layered(summary: Mapping[str, Any]) -> Iterator[str]:
  """Figures that hold the time in which a transfer's layers are computed."""
  if summary["layered_transfers"]:
    hidden_ms = _or_none(summary["mean_hidden_transfer_ms"], plain)
    exposed = _or_none(summary["exposed_transfer_share"], "{:.1%}".format)
    yield (
        "bounds, as pages leave layer by layer: hidden transfer"
        f" <= {hidden_ms} ms, exposed share"
        f" >= {exposed}, a link busy"
        f" <= {summary['link_busy_share']:.1%}"
    )


def _or_none(value: float | None, told: Callable[[float], str]) -> str:
  return "-" if value is None else told(value)


def _few(summary: Mapping[str, Any], slo: SLO) -> Iterator[str]:
  """An attainment that so many requests would often reach by chance."""
  judged = summary["sent"] - summary["aborted"]
  least = max(needed(TAIL), needed(100 * slo.attainment))
  if summary["slo_attainment"] is not None and judged < least:
    yield (
        f"SLO: attainment is of {judged} requests, too few to tell"
        f" {plain(slo.attainment, 4)} from less: it needs {least}"
    )
