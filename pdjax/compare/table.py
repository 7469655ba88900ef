"""The ratios as a table, with all that must be known beside them."""

from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.compare.quotient import Quotient
from pdjax.compare.refusals import overlooked
from pdjax.compare.replicas import Filled
from pdjax.compare.verdict import Verdict, slo_flips
from pdjax.digits import plain
from pdjax.metrics.trust import trust
from pdjax.report.bounded import BOTH_ALL, serve_all
from pdjax.report.drawn import shown_words
from pdjax.report.draws import over_draws
from pdjax.report.heading import wrapped

_NAME, _VALUE = 28, 10
_UNLIKE_LOADS = 0.02
"""Loads a chip that differ by more are said to be two loads."""


def ratios(found: Verdict) -> Iterator[str]:
  """What is overlooked, sizes, ratios, flips, and doubts about the runs."""
  yield from overlooked(found)
  yield from _per_chip(found)
  yield (
      f"{'':<{_NAME}}{'A':>{_VALUE}}{'B':>{_VALUE}}   B / A"
      f"{_interval_words(found)}"
  )
  for each in found.plain:
    yield _row(each.figure.words, each)
  for each in found.anchored.values():
    yield f"{next(iter(each.values())).figure.words}, first token out at"
    for anchor, one in each.items():
      yield _row(f"  {anchor}", one)
  yield from _flips(found)
  yield from _bounded(found)
  yield from _over_draws(found)
  yield from _doubts(found)


def _bounded(found: Verdict) -> Iterator[str]:
  """That no goodput was put to the test."""
  rivals = (found.a, found.b)
  if any(rival.claim for rival in rivals):
    return
  if all(serve_all(list(rival.runs.values())) for rival in rivals):
    yield from wrapped(f"! goodput: {BOTH_ALL}")


def _over_draws(found: Verdict) -> Iterator[str]:
  """All above is of one set of costs: who is first over all draws of them, or
  that nothing tells."""
  if not (texts := over_draws(found.drawn).splitlines()):
    told = trust(found.a.kind, found.a.contract.get("cost_profile"))
    yield from wrapped(f"! {told}") if told else ()
    return
  shown = [*found.a.runs.values(), *found.b.runs.values()]
  others = [run for run in found.drawn if not any(run is x for x in shown)]
  for text in (shown_words([*shown, *others]), *texts):
    yield from wrapped(text)


def _interval_words(found: Verdict) -> str:
  if len(found.seeds) > 1:
    return f" [95 % interval, {len(found.seeds)} seeds paired]"
  if found.a.claim or found.b.claim:
    return ", no interval: a published figure"
  return " [95 % interval, where one run each says]"


def _per_chip(found: Verdict) -> Iterator[str]:
  totals = found.totals
  if totals is None:
    return
  yield from wrapped(
      f"UNEQUAL CHIPS: A has {found.a.chips}, B {found.b.chips}; throughput is"
      f" per chip. On {totals.chips} chips: A {_filled(totals.a)}; B"
      f" {_filled(totals.b)}{_together(totals.ratio)}"
  )
  ours, theirs = (
      rival.first.summary.get("offered_rate_per_chip")
      for rival in (found.a, found.b)
  )
  if ours and theirs and abs(ours / theirs - 1) > _UNLIKE_LOADS:
    yield from wrapped(
        f"! the load differs: {number(ours)}/s a chip on A, {number(theirs)}/s"
        " on B; latencies are of these loads"
    )


def _filled(filled: Filled) -> str:
  goodput, many = filled.goodput_per_s, filled.replicas
  load = f" at {many} x its load" if many > 1 else ""
  parts = [
      f"{many} {'replica' if many == 1 else 'replicas'}",
      f"{filled.idle_chips} idle" if filled.idle_chips else "",
      "" if goodput is None else f"{number(goodput)} good requests/s{load}",
  ]
  return ", ".join(filter(None, parts))


def _together(ratio: float | None) -> str:
  return "" if ratio is None else f"; B / A {ratio:.2f}x"


def _row(name: str, found: Quotient) -> str:
  scale = found.figure.scale
  values = "".join(
      f"{number(value, scale):>{_VALUE}}" for value in (found.a, found.b)
  )
  return f"{name:<{_NAME}}{values}   {_times(found)}"


def _times(found: Quotient) -> str:
  if found.span:
    return "{:.2f}x to {:.2f}x".format(*found.span)
  if found.ratio is None:
    return "-"
  if found.published and found.ratio.interval.estimate is not None:
    return f"{found.ratio.interval.estimate:.2f}x"
  better = found.ratio.told_apart and found.better in ("A", "B")
  return f"{found.ratio}{f', {found.better} better' if better else ''}"


def number(value: Any, scale: float = 1) -> str:
  """Three digits, or a claim's range."""
  if isinstance(value, tuple):
    return "-".join(number(end, scale) for end in value)
  if value is None:
    return "-"
  return plain(value * scale)


def _flips(found: Verdict) -> Iterator[str]:
  for stem, order in found.flips.items():
    title = next(iter(found.anchored[stem].values())).figure.words
    yield from wrapped(f"! FLIPS with the anchor: {title}: {_order(order)}")
  for side, rival in (("A", found.a), ("B", found.b)):
    flipped = slo_flips(rival)
    if flipped:
      yield from wrapped(
          f"! FLIPS with the anchor: {side} {_met(flipped[0])} ({len(flipped)}"
          f" of {len(rival.runs)} runs)"
      )


def _order(order: Mapping[str, Any]) -> str:
  said = {"A": "A is better", "B": "B is better", "equal": "equal", None: "-"}
  return _grouped(order, said)


def _met(met: Mapping[str, bool | None]) -> str:
  said = {True: "meets its SLO", False: "misses it", None: "is not judged"}
  return _grouped(met, said)


def _grouped(by_anchor: Mapping[str, Any], said: Mapping[Any, str]) -> str:
  """`B is better at prefill_sampled and kv_landed, A is better at ...`."""
  groups: dict[Any, list[str]] = {}
  for anchor, value in by_anchor.items():
    groups.setdefault(value, []).append(anchor)
  return ", ".join(
      f"{said[value]} at {' and '.join(anchors)}"
      for value, anchors in groups.items()
  )


def _doubts(found: Verdict) -> Iterator[str]:
  """What each run says against itself."""
  for side, rival in (("A", found.a), ("B", found.b)):
    flags = dict.fromkeys(
        flag for run in rival.runs.values()
        for flag in run.summary.get("flags", ())
    )
    for flag in flags:
      yield from wrapped(f"! {side}: {flag}")
