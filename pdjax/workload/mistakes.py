"""What is wrong with a workload's configuration, seen before any file is read.

One clear line a mistake. Whether a field is read at all is asked elsewhere.
"""

import math
from collections.abc import Callable, Iterable, Iterator

from pdjax import config
from pdjax.fieldtypes import near, shown
from pdjax.reads import RATED, arrival_of, timed
from pdjax.window import HORIZON, lasting
from pdjax.workload.formats import FORMATS
from pdjax.workload.lengths import MAX_TOKENS
from pdjax.workload.presets import PRESETS
from pdjax.workload.row import LONGEST_S

Check = Callable[[config.Workload], Iterable[str]]

MAX_REQUESTS = 10**6
"""Of one run: beyond, a log no longer fits a common machine."""

MAX_SECONDS = 1e9
"""On a trace's clock."""

_COUNTS = {
    "num_requests": (1, MAX_REQUESTS),
    "skip_requests": (0, MAX_TOKENS),
    "max_prompt_tokens": (1, MAX_TOKENS),
    "max_output_tokens": (1, MAX_TOKENS),
    "max_tokens": (1, MAX_TOKENS),
    "concurrency": (1, MAX_REQUESTS),
    "seed": (0, 2**63 - 1),
}
_SCALES = {
    "rate": (1e-9, 1e9),
    "arrival_cv": (1e-3, 1e3),
    "time_scale": (1e-9, 1e9),
    "length_scale": (1e-4, 1e3),
    "start_s": (0, MAX_SECONDS),
    "end_s": (0, MAX_SECONDS),
    "cancel_fraction": (0, 1),
    "cancel_after_s": (1e-9, LONGEST_S),
    "deadline_s": (1e-9, LONGEST_S),
    "jitter_s": (0, 1e4),
    "think_time_s": (0, 1e6),
    "stay_probability": (0, 0.999),
    "duration_s": (1e-6, 1e6),
    "warmup_s": (0, 1e6),
}


def mistakes(workload: config.Workload) -> list[str]:
  """A line for each mistake, all of them."""
  return [line for check in CHECKS for line in check(workload)]


def _out_of_range(name: str, low: float, high: float) -> Check:
  def check(workload: config.Workload) -> Iterator[str]:
    value = getattr(workload, name)
    if value is not None and not low <= value <= high:
      yield (
          f"workload.{name}={shown(value)}: must be from {low:g} to"
          f" {high:.10g}"
      )

  return check


def _arrival(workload: config.Workload) -> Iterator[str]:
  arrival = arrival_of(workload)
  if arrival in RATED and workload.rate is None:
    yield (
        "workload.rate: missing; arrival="
        f"{arrival!r} needs requests per second, for instance rate=4.0"
    )
  if arrival == "trace" and workload.kind == "synthetic":
    yield (
        "workload.arrival='trace': a synthetic workload has no trace; allowed:"
        " poisson, gamma, constant, all_at_once, closed, semi_open"
    )
  if arrival == "closed" and workload.concurrency is None:
    yield (
        "workload.concurrency: missing; arrival='closed' needs the number of"
        " users, for instance concurrency=16"
    )


def _of_each_law(
    check: Callable[[str, config.Lengths], Iterable[str]]
) -> tuple[Check, ...]:
  """The check asked about prompts, answers and turns that are drawn."""

  def of(name: str) -> Check:
    def checked(workload: config.Workload) -> Iterator[str]:
      law = getattr(workload, name)
      if workload.kind == "synthetic" and law is not None:
        yield from check(f"workload.{name}", law)

    return checked

  return of("prompt"), of("output"), of("turns")


def _mean(name: str, lengths: config.Lengths) -> Iterator[str]:
  if lengths.kind == "empirical":
    return
  if not 1 <= lengths.mean <= MAX_TOKENS:
    yield f"{name}.mean={lengths.mean!r}: must be from 1 to {MAX_TOKENS}"
  elif lengths.kind == "fixed" and lengths.mean != math.floor(lengths.mean):
    yield f"{name}.mean={lengths.mean!r}: a fixed length is a whole number"


def _cv(name: str, lengths: config.Lengths) -> Iterator[str]:
  if lengths.kind == "lognormal" and not 0 <= lengths.cv <= 100:
    yield f"{name}.cv={lengths.cv!r}: must be from 0 to 100"


def _low(name: str, lengths: config.Lengths) -> Iterator[str]:
  if lengths.kind == "lognormal" and not 1 <= lengths.low <= MAX_TOKENS:
    yield f"{name}.low={shown(lengths.low)}: must be from 1 to {MAX_TOKENS}"


def _high(name: str, lengths: config.Lengths) -> Iterator[str]:
  low, high = lengths.low, lengths.high
  if lengths.kind != "lognormal" or high is None:
    return
  if not low <= high <= MAX_TOKENS:
    yield (
        f"{name}.high={shown(high)}: must be from low={low} to {MAX_TOKENS}"
    )


def _values(name: str, lengths: config.Lengths) -> Iterator[str]:
  if lengths.kind != "empirical":
    return
  wrong = [value for value in lengths.values if not 1 <= value <= MAX_TOKENS]
  if not lengths.values:
    yield f"{name}.values: kind='empirical' needs at least one length"
  if wrong:
    yield (
        f"{name}.values: {len(wrong)} of {len(lengths.values)} are not from 1"
        f" to {MAX_TOKENS}, the first is {shown(wrong[0])}"
    )


def _preset(workload: config.Workload) -> Iterator[str]:
  name = workload.lengths
  if name is not None and name not in PRESETS:
    yield (
        f"workload.lengths={shown(name)}: no such preset; allowed:"
        f" {', '.join(PRESETS)}{near(name, PRESETS)}"
    )


def _turns(workload: config.Workload) -> Iterator[str]:
  if workload.turns is not None and workload.stop == "eos":
    yield (
        "workload.stop='eos': an answer is part of the next turn's prompt"
        " (workload.turns), so its length must be known; use 'forced_length'"
    )


def _part(workload: config.Workload) -> Iterator[str]:
  """The part of a trace that is taken, and at what pace."""
  if workload.end_s is not None and not workload.start_s < workload.end_s:
    yield (
        f"workload.end_s={workload.end_s!r}: must be after"
        f" start_s={workload.start_s!r}"
    )
  if arrival_of(workload) == "trace" and workload.rate is not None:
    if workload.time_scale != 1:
      yield (
          f"workload.time_scale={workload.time_scale!r}: workload.rate scales"
          " the trace's gaps already"
      )


def _blocks(workload: config.Workload) -> Iterator[str]:
  """A trace's blocks scale with the prompts, to whole tokens only."""
  scale = workload.length_scale
  if workload.kind == "synthetic" or not 0 < scale < math.inf:
    return
  of = FORMATS[workload.kind].block_tokens
  if not of:
    return
  block_tokens = of * scale
  if block_tokens != round(block_tokens) or block_tokens < 1:
    near = max(1, round(block_tokens))
    yield (
        f"workload.length_scale={scale!r}: a block of {of}"
        f" tokens would become {block_tokens:.6g}; the nearest scale that fits"
        f" is {near / of!r} ({near} tokens)"
    )


def _protocol(workload: config.Workload) -> Iterator[str]:
  if workload.protocol != "steady":
    return
  if arrival_of(workload) == "all_at_once":
    yield (
        "workload.protocol='steady': requests that come all at once have no"
        " steady state; use 'count', or arrivals that go on"
    )
  elif not timed(workload) and workload.kind == "synthetic":
    if workload.num_requests is None:
      yield (
          "workload.num_requests: missing; in a loop the system's speed decides"
          " how many requests are sent in the window: say how many at most"
      )


def _brought(workload: config.Workload) -> Iterator[str]:
  """As `num_requests` where a window and a rate say how many there are."""
  if not timed(workload) or workload.kind != "synthetic":
    return
  prepared_s = HORIZON * sum(lasting(workload))
  count = (workload.rate or 0.0) * prepared_s
  if count > MAX_REQUESTS:
    yield (
        f"workload.rate={workload.rate!r}: {count:.3g} requests would arrive"
        f" in warm-up, window and as long again, {prepared_s:g} s; at most"
        f" {MAX_REQUESTS} are possible"
    )


CHECKS: tuple[Check, ...] = (
    *(_out_of_range(name, *ends) for name, ends in _COUNTS.items()),
    *(_out_of_range(name, *ends) for name, ends in _SCALES.items()),
    _arrival,
    *_of_each_law(_mean),
    *_of_each_law(_cv),
    *_of_each_law(_low),
    *_of_each_law(_high),
    *_of_each_law(_values),
    _preset,
    _turns,
    _part,
    _blocks,
    _protocol,
    _brought,
)
"""Each reads few fields, and may rely on those before it."""
