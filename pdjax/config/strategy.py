"""Who decides what runs next, and by which settings."""

import dataclasses
from typing import Literal

from pdjax.config.transfer import TransferPlan

BUILTIN_STRATEGIES = (
    "continuous", "static", "chunked", "adaptive_chunk", "disaggregated",
    "conditional", "elastic", "vllm_v1", "lanes",
)
HANDING_OVER = ("disaggregated", "conditional", "elastic")
"""Those that need workers of roles P and D."""
WHOLE_PROMPT_TOKENS = 8192
"""Prompt tokens of a step that takes whole prompts, if the config is silent."""
LOCAL_PROMPT_TOKENS = 512
"""Uncached prompt tokens that a decode worker computes itself, likewise."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class RoleChange:
  """When a worker of an elastic split changes its role."""

  queue_tokens: int = 16384
  """P lacks workers while each has more prompt tokens than this, waiting or
  held, and D has room."""
  window_s: float = 5.0
  """How long a role must lack workers without a break."""
  pause_s: float = 20.0
  """From one change to the next choice at the earliest."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LaneShares:
  """What the prefill lane of a worker gets of each chip; decodes get the rest.

  Fixed: what a lane leaves unused is not lent to the other.
  """

  prefill_compute: float = 0.6
  """Of the arithmetic, by whole multiprocessors, and of the links."""
  prefill_bandwidth: float = 0.3
  """Of the memory bandwidth."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Strategy:
  kind: str = "continuous"
  """continuous, static, chunked, adaptive_chunk, disaggregated, conditional,
  elastic, vllm_v1, lanes, or `module:factory`."""
  priority: Literal["prefill_first", "decode_first"] | None = None
  """Whether decodes wait while continuous batching takes prompts in, or share
  the step with them; default prefill_first."""
  chunk_size: int | None = None
  """Token budget of a step. chunked: default 512. vllm_v1: default 2048.
  adaptive_chunk: the largest, default 2048.
  disaggregated, conditional, elastic, lanes: of steps with prompts, default
  none (whole prompts)."""
  step_costs: str | None = None
  """adaptive_chunk: path of a calibration (`pdjax.calibrate`) that says what
  steps take; None: the simulator's own costs. Real devices need one."""
  local_prompt_tokens: int | None = None
  """conditional: prompts with at most so many uncached tokens are prefilled on
  the decode worker; default 512."""
  local_prefix_share: float | None = None
  """conditional: so are prompts with this share of them cached there, however
  long; default 0.5."""
  max_num_batched_tokens: int | None = None
  """Prompt tokens of one whole-prompt step; default 8192."""
  max_num_seqs: int | None = None
  """Requests that hold pages on one worker at a time; default 128, vllm_v1
  256."""
  prefix_cache: bool | None = None
  """Whether workers keep pages of prompts and lend them to requests with the
  same prefix; default: vllm_v1 only."""
  router: Literal[
      "round_robin",
      "least_outstanding_tokens",
      "join_shortest_queue",
      "prefix_aware",
  ] = "least_outstanding_tokens"
  """Which of several workers gets a request; prefix_aware needs
  `prefix_cache`. See docs/policies.md."""
  elastic: RoleChange | None = None
  lanes: LaneShares | None = None
  """lanes: how a chip is shared out; a `module:factory` that says it has two
  lanes a worker too (simulated)."""
  first_token: Literal["at_prefill", "at_handoff"] | None = None
  """When disaggregation releases the first token; default at_prefill."""
  transfer: TransferPlan | None = None
  options: dict[str, int | float | str | bool] = dataclasses.field(
      default_factory=dict
  )
  """Keyword arguments of a `module:factory`."""


def most_seqs(strategy: Strategy) -> int:
  """Requests that hold pages on a worker whose pool does not say."""
  if strategy.max_num_seqs is not None:
    return strategy.max_num_seqs
  return 256 if strategy.kind == "vllm_v1" else 128


def lanes_of(strategy: Strategy) -> LaneShares | None:
  """How each chip is shared out; None where a worker has one lane."""
  return strategy.lanes or (
      LaneShares() if strategy.kind == "lanes" else None
  )
