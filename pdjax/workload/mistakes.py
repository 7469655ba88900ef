"""What is wrong with a workload's configuration, seen before any file is read.

One clear line a mistake. Whether a field is read at all is asked elsewhere.
"""

import math
from collections.abc import Iterator

from pdjax import config
from pdjax.workload import mooncake
from pdjax.workload.lengths import MAX_TOKENS

_RATED = ("poisson", "gamma", "constant")

_SCALES = {
    "rate": (1e-9, 1e9),
    "arrival_cv": (1e-3, 1e3),
    "time_scale": (1e-9, 1e9),
    "length_scale": (1e-4, 1e3),
}


def arrival_of(workload: config.Workload) -> str:
  """The arrival process, with None filled in."""
  if workload.arrival:
    return workload.arrival
  return "poisson" if workload.kind == "synthetic" else "trace"


def mistakes(workload: config.Workload) -> list[str]:
  """A line for each mistake, all of them."""
  return [
      *_out_of_range(workload),
      *_arrival(workload),
      *_lengths(workload),
      *_blocks(workload),
      *_protocol(workload),
  ]


def _out_of_range(workload: config.Workload) -> Iterator[str]:
  positive = (
      "num_requests",
      "max_prompt_tokens",
      "max_output_tokens",
      "max_tokens",
  )
  for name in positive:
    value = getattr(workload, name)
    if value is not None and not 1 <= value <= MAX_TOKENS:
      yield f"workload.{name}={value}: must be from 1 to {MAX_TOKENS}"
  for name in ("skip_requests", "seed"):
    value = getattr(workload, name)
    if value < 0:
      yield f"workload.{name}={value}: must not be negative"
  for name, (low, high) in _SCALES.items():
    value = getattr(workload, name)
    if value is not None and not low <= value <= high:
      yield (
          f"workload.{name}={value!r}: must be positive, from {low:g} to"
          f" {high:g}"
      )


def _arrival(workload: config.Workload) -> Iterator[str]:
  arrival = arrival_of(workload)
  if arrival in _RATED and workload.rate is None:
    yield (
        "workload.rate: missing; arrival="
        f"{arrival!r} needs requests per second, for instance rate=4.0"
    )
  if arrival == "trace" and workload.kind == "synthetic":
    yield (
        "workload.arrival='trace': a synthetic workload has no trace; allowed:"
        " poisson, gamma, constant, all_at_once"
    )


def _lengths(workload: config.Workload) -> Iterator[str]:
  if workload.kind == "synthetic":
    yield from _law("workload.prompt", workload.prompt)
    yield from _law("workload.output", workload.output)


def _law(name: str, lengths: config.Lengths) -> Iterator[str]:
  if lengths.kind == "empirical":
    yield from _values(name, lengths)
  else:
    yield from _mean(name, lengths)
  if lengths.kind == "lognormal":
    yield from _bounds(name, lengths)


def _mean(name: str, lengths: config.Lengths) -> Iterator[str]:
  if not 1 <= lengths.mean <= MAX_TOKENS:
    yield f"{name}.mean={lengths.mean!r}: must be from 1 to {MAX_TOKENS}"
  elif lengths.kind == "fixed" and lengths.mean != math.floor(lengths.mean):
    yield f"{name}.mean={lengths.mean!r}: a fixed length is a whole number"


def _bounds(name: str, lengths: config.Lengths) -> Iterator[str]:
  if not 0 <= lengths.cv <= 100:
    yield f"{name}.cv={lengths.cv!r}: must be from 0 to 100"
  if not 1 <= lengths.low <= MAX_TOKENS:
    yield f"{name}.low={lengths.low}: must be from 1 to {MAX_TOKENS}"
  if lengths.high is not None and not lengths.low <= lengths.high <= MAX_TOKENS:
    yield (
        f"{name}.high={lengths.high}: must be from low={lengths.low} to"
        f" {MAX_TOKENS}"
    )


def _values(name: str, lengths: config.Lengths) -> Iterator[str]:
  wrong = [value for value in lengths.values if not 1 <= value <= MAX_TOKENS]
  if not lengths.values:
    yield f"{name}.values: kind='empirical' needs at least one length"
  if wrong:
    yield (
        f"{name}.values: {len(wrong)} of {len(lengths.values)} are not from 1"
        f" to {MAX_TOKENS}, the first is {wrong[0]}"
    )


def _blocks(workload: config.Workload) -> Iterator[str]:
  """Mooncake's blocks scale with the prompts, to whole tokens only."""
  scale = workload.length_scale
  if workload.kind != "mooncake" or not 0 < scale < math.inf:
    return
  block_tokens = mooncake.BLOCK_TOKENS * scale
  if block_tokens != round(block_tokens) or block_tokens < 1:
    near = max(1, round(block_tokens))
    yield (
        f"workload.length_scale={scale!r}: a block of {mooncake.BLOCK_TOKENS}"
        f" tokens would become {block_tokens:.6g}; the nearest scale that fits"
        f" is {near / mooncake.BLOCK_TOKENS!r} ({near} tokens)"
    )


def _protocol(workload: config.Workload) -> Iterator[str]:
  if workload.protocol != "count":
    yield (
        f"workload.protocol={workload.protocol!r}: not available yet: use"
        " 'count'"
    )
