"""What to change, by verdict, less what a run's config has already.

The rules of thumb behind it: docs/diagnose.md. A client's file says nothing of
the server's config, so all of a verdict's advice stands there.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from pdjax.diagnose.finding import CANNOT_TELL

Config = Mapping[str, Any]
"""Fields of a resolved run by their paths, as `summary.json` has them."""

_SPLIT = ("disaggregated", "conditional", "elastic")
_EIGHT_BITS = ("fp8", "int8", "int4")
_LEAST_CHUNK, _LARGEST_CHUNK = 512, 8192
"""Of the sizes that the rules of thumb speak of."""


def _always(config: Config) -> bool:
  return True


def _split(config: Config) -> bool:
  return config.get("strategy.kind") in _SPLIT


def _chunk(config: Config) -> int | None:
  return config.get("strategy.chunk_size")


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
  """A piece of advice, which stands by itself: those before it may be left
  out."""

  text: str
  fits: Callable[[Config], bool] = _always
  """Whether a run of this config can still follow it."""


ADVICE = {
    "generator": (
        Line("Fix the load generator first: its own lag is in every latency"
             " here."),
    ),
    "prefill_queue": (
        Line("Give prefill more: in a split more P workers (2P1D, 3P1D), else"
             " more workers, or a lower rate."),
        Line("Where prompts are chunked, a larger chunk_size (2048 to 8192)"
             " serves queued prompts sooner, at the cost of steadiness.",
             lambda c: (_chunk(c) or _LARGEST_CHUNK) < _LARGEST_CHUNK),
    ),
    "prefill": (
        Line("Faster prefill: more tensor parallelism or a chip with more"
             " FLOP/s for it."),
        Line("A prefix cache (strategy.prefix_cache=true) where prompts share"
             " beginnings.", lambda c: not c.get("strategy.prefix_cache")),
    ),
    "interference": (
        Line("Chunk prompts: strategy.kind='chunked' with chunk_size 512 to"
             " 2048 steadies the time per token.", lambda c: not _chunk(c)),
        Line("A smaller chunk_size (down to 512) steadies the time per token.",
             lambda c: (_chunk(c) or 0) > _LEAST_CHUNK),
        Line("Workers of its own for decode:"
             " strategy.kind='disaggregated'.", lambda c: not _split(c)),
    ),
    "transfer": (
        Line("A faster link, fewer KV bytes (model.kv_dtype), or P and D joined"
             " by an interconnect rather than a network."),
        Line("Where a hand-off takes longer than its prefill, splitting does"
             " not pay: compare with strategy.kind='chunked' on as many"
             " chips."),
    ),
    "decode_memory": (
        Line("More room for KV: more D workers or chips, or a larger"
             " hbm_utilization."),
        Line("Fewer bytes: weights or KV in 8 bits (model.weight_dtype,"
             " model.kv_dtype).", lambda c: not _in_eight_bits(c)),
        Line("Fewer requests at a time (max_num_seqs), so that none is"
             " preempted and computed again."),
    ),
    "decode_bandwidth": (
        Line("More memory bandwidth for decode (A100 2,039 GB/s, H100 3,350"
             " GB/s) helps the time per token more than faster prefill"
             " would."),
        Line("Fewer bytes a step: weights and KV in 8 bits"
             " (model.weight_dtype, model.kv_dtype).",
             lambda c: not _in_eight_bits(c)),
        Line("More tensor parallelism; larger batches share the weights'"
             " bytes."),
    ),
    "decode_compute": (
        Line("Fewer sequences a step, or more chips for decode."),
    ),
    "batch_limit": (
        Line("Raise strategy.max_num_seqs if memory for KV is left, else add"
             " workers of the role that is full."),
    ),
    CANNOT_TELL: (),
}


def _in_eight_bits(config: Config) -> bool:
  """Weights and KV both."""
  return all(
      config.get(f"model.{name}") in _EIGHT_BITS
      for name in ("weight_dtype", "kv_dtype")
  )


def advice(verdict: str, config: Config | None = None) -> tuple[str, ...]:
  """What to change.

  Args:
    verdict: a key of `TITLES`.
    config: of the run; None of a client's file: nothing is left out.
  """
  return tuple(
      line.text for line in ADVICE[verdict]
      if config is None or line.fits(config)
  )
