"""A run seen from a client alone: what its latencies do and do not decide.

Tails tell: a long tail of TTFT with steady gaps is queueing for prefill; long
gaps with a steady TTFT are prompts that disturb answers; both together may be
either, or requests preempted for want of memory, which look alike from outside
unless each request's times are there. Bandwidth, memory and the batch limit
are never seen by a client.
"""

from pdjax.diagnose import tails
from pdjax.diagnose.advice import advice
from pdjax.diagnose.finding import CANNOT_TELL, NO_PROFILER, Finding
from pdjax.diagnose.tails import Tail
from pdjax.digits import plain
from pdjax.foreign.observed import Observed

_HIGH = {"ttft": 3.0, "itl": 3.0, "tpot": 1.5}
"""Ratio of a tail from which it is long. A TPOT is a mean of many gaps."""
_STEADY = {"ttft": 2.0, "itl": 2.0, "tpot": 1.25}
"""Up to which it is steady; between the two nothing is said."""
_LATE = 0.05
"""Of the median TTFT."""
_OF_ALL = 0.1
"""Of the mean end-to-end time, as for runs of ours: less of it is not the
verdict, however long the tail. No client's file has an SLO beside it."""
_TWICE = 2.0
_HAND_OFF = 3.0
"""First gap over later ones from which a hand-off is suspected."""

_WHAT_FOR = (
    "What they queue for, compute or room for KV, is not in these data: if the"
    " server counts preemptions or full KV, it is room, and more prefill would"
    " not help."
)
_UNSEEN = (
    "A client cannot see memory, batch or bandwidth: for those run pdjax, or"
    " look at the server's own counters."
)


def diagnose(seen: Observed) -> Finding:
  """The finding of one benchmark."""
  where = {}
  if (first := tails.mean_of(seen, "ttft")) is not None:
    where["until the first token"] = first
    if (whole := tails.mean_of(seen, "e2el")) is not None:
      where["after the first token"] = max(0.0, whole - first)
  verdict, evidence = _verdict(seen)
  notes = [_UNSEEN, NO_PROFILER]
  if verdict == "prefill_queue":
    notes.insert(0, _WHAT_FOR)
  if seen.failed:
    notes.insert(0, f"{seen.failed} requests failed and are in no latency")
  if "p50_lag_ms" not in seen.figures and tails.mean_of(seen, "lag") is None:
    notes.append(
        "Nothing here says when requests were meant to be sent, so a late"
        " generator would go unnoticed."
    )
  return Finding(
      source=seen.source, verdict=verdict, evidence=tuple(evidence),
      where_ms=where, notes=tuple(notes), advice=advice(verdict),
  )


def _verdict(seen: Observed) -> tuple[str, list[str]]:
  first = tails.tail(seen, "ttft")
  gaps = tails.tail(seen, "itl") or tails.tail(seen, "tpot")
  if late := _late(seen, first):
    return "generator", [late]
  if first is None or gaps is None:
    return CANNOT_TELL, [_missing(seen, first, gaps)]
  evidence = [str(first), str(gaps)]
  queues, why = _queues(seen, first)
  waits = "waits for its first token"
  if queues and (told := _minor(_waits_ms(seen), seen, waits)):
    queues = False
    evidence.append(told)
  if not queues and (told := _hand_off(seen)):
    return CANNOT_TELL, [*evidence, told]
  if queues and _is(gaps, _STEADY):
    return "prefill_queue", [*evidence, *why]
  if _is(gaps, _HIGH):
    return _spikes(seen, evidence, queues, why)
  if not queues and _is(first, _STEADY) and _is(gaps, _STEADY):
    return _steady(evidence)
  if len(evidence) > 2 and _is(gaps, _STEADY):
    return CANNOT_TELL, [
        *evidence,
        "gaps are steady: their steps take the time; what bounds those, a"
        " client cannot see",
    ]
  return CANNOT_TELL, [
      *evidence, "the tails are neither long nor short: nothing stands out"
  ]


def _is(tail: Tail, limits: dict[str, float]) -> bool:
  limit = limits[tail.metric]
  return tail.ratio <= limit if limits is _STEADY else tail.ratio >= limit


def _late(seen: Observed, first: Tail | None) -> str:
  """Why the generator is to blame; empty if it is not, or unknown."""
  lag = tails.tail(seen, "lag")
  lag_ms = lag.high_ms if lag else tails.mean_of(seen, "lag")
  median_ms = first.median_ms if first else seen.figures.get("p50_ttft_ms")
  if lag_ms is None or median_ms is None or lag_ms <= _LATE * median_ms:
    return ""
  name = lag.statistic if lag else "mean"
  return (
      f"requests were sent late: {name} lag {plain(lag_ms)} ms, over"
      f" {_LATE:.0%} of the median TTFT of {plain(median_ms)} ms"
  )


def _missing(seen: Observed, first: Tail | None, gaps: Tail | None) -> str:
  lacking = [
      name for name, tail in (("TTFT", first), ("ITL or TPOT", gaps))
      if tail is None
  ]
  count = seen.completed
  few = f" of {count} requests" if count is not None else ""
  return (
      f"no median and p99 (300 requests) or p90 (30) of"
      f" {' and '.join(lacking)}{few}: means say nothing of tails"
  )


def _queues(seen: Observed, first: Tail) -> tuple[bool, list[str]]:
  """Whether requests queue before their first token, and why that is thought.

  A queue that everyone stands in has no tail; growth and the prompts' own
  needs show it where each request is known.
  """
  why = []
  if seen.requests is not None:
    share = tails.waiting_share(seen.requests)
    grown = tails.growth(seen.requests)
    if share is not None and share >= 0.5:
      why.append(
          f"{share:.0%} of all TTFT is more than the prompts need at the rate"
          " of the fastest twentieth"
      )
    if grown is not None and grown >= _TWICE:
      why.append(
          f"the last third waits {plain(grown, 2)} times as long as the first"
      )
  return _is(first, _HIGH) or len(why) == 2, why


def _waits_ms(seen: Observed) -> float | None:
  """A request's mean wait for its first token; at most the whole TTFT where
  the prompts' own needs are not known."""
  first = tails.mean_of(seen, "ttft")
  share = tails.waiting_share(seen.requests) if seen.requests else None
  return None if first is None else first * (1.0 if share is None else share)


def _minor(part_ms: float | None, seen: Observed, what: str) -> str:
  """That a part is too small to be the verdict; empty if it is not, or
  unknown."""
  whole_ms = tails.mean_of(seen, "e2el")
  if part_ms is None or not whole_ms or part_ms >= _OF_ALL * whole_ms:
    return ""
  return (
      f"a request {what} {plain(part_ms)} ms at most of {plain(whole_ms)} ms,"
      f" {part_ms / whole_ms:.1%}: under {_OF_ALL:.0%}, so not the verdict"
  )


def _spikes(
    seen: Observed, evidence: list[str], queues: bool, why: list[str]
) -> tuple[str, list[str]]:
  """Gaps have a long tail: prompts, or something else?"""
  found = tails.long_gaps(seen.requests) if seen.requests else None
  if found is None:
    if not queues:
      return "interference", evidence
    if told := _waits_outweigh(seen):
      return "prefill_queue", [*evidence, *why, told]
    return CANNOT_TELL, [
        *evidence,
        "both tails are long: queueing, prompts beside answers, and requests"
        " preempted for want of memory look alike without each request's"
        " times",
    ]
  evidence.append(
      f"{found.with_first_token:.0%} of {found.count} long gaps end with the"
      f" first token of another request ({found.by_chance:.0%} by chance)"
  )
  if not found.from_prompts:
    return CANNOT_TELL, [
        *evidence,
        "long gaps do not go with prompts: preemption, or a stall of the"
        " server or of the client",
    ]
  if not queues:
    if told := _minor(found.excess_ms, seen, "loses in long gaps"):
      return CANNOT_TELL, [*evidence, told]
    return "interference", evidence
  assert seen.requests is not None
  waits_ms = float(
      (seen.requests.ttft_ms - seen.requests.ttft_ms.min()).mean()
  )
  evidence += [
      *why,
      f"a request waits about {plain(waits_ms)} ms for its first token and"
      f" loses {plain(found.excess_ms)} ms in long gaps",
  ]
  if waits_ms >= _TWICE * found.excess_ms:
    return "prefill_queue", evidence
  if found.excess_ms >= _TWICE * waits_ms:
    return "interference", evidence
  return CANNOT_TELL, [*evidence, "about as much of the one as of the other"]


def _waits_outweigh(seen: Observed) -> str:
  """Where the waits are twice all that comes after the first token, whatever
  disturbs that; empty where they are not, or are not known."""
  share = tails.waiting_share(seen.requests) if seen.requests else None
  first, whole = tails.mean_of(seen, "ttft"), tails.mean_of(seen, "e2el")
  if share is None or first is None or whole is None:
    return ""
  if share * first < _TWICE * (whole - first):
    return ""
  return (
      f"the waits are {plain(share * first)} ms of a mean of {plain(whole)} ms,"
      f" and all after the first token {plain(whole - first)} ms"
  )


def _hand_off(seen: Observed) -> str:
  """Where only the first gap is long: what lies in it; else empty."""
  found = tails.first_gaps(seen.requests) if seen.requests else None
  if found is None or found.ratio < _HAND_OFF or found.later.ratio > _TWICE:
    return ""
  return (
      f"the first gap is {plain(found.first_ms)} ms in the median, later ones"
      f" {plain(found.later.median_ms)} ms and steady: where prefill and decode"
      " are apart that is the hand-off, by its link or for want of room on the"
      " decode worker; a client cannot see which"
  )


def _steady(evidence: list[str]) -> tuple[str, list[str]]:
  """No tail at all: steps themselves, which say nothing to a client."""
  return CANNOT_TELL, [
      *evidence,
      "no tail: requests take what their steps take; whether bandwidth,"
      " compute or overhead bounds those, a client cannot see",
  ]
