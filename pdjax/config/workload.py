"""What is asked, when, and how much of it is measured."""

import dataclasses
from typing import Literal

from pdjax.config.lengths import Lengths


@dataclasses.dataclass(frozen=True, kw_only=True)
class Workload:
  kind: Literal[
      "synthetic", "azure", "mooncake", "burstgpt", "qwen", "vidur",
      "splitwise", "jsonl", "sharegpt", "requests",
  ] = "synthetic"
  """Drawn requests, or the format of a trace."""
  path: str | None = None
  """Of a trace; None takes the package's small sample (azure, mooncake)."""
  skip_bad_rows: bool = False
  """Leaves out and counts a trace's malformed rows instead of refusing it."""
  start_s: float = 0.0
  """Of a trace, requests from this time after its first on."""
  end_s: float | None = None
  """Of a trace, requests before this time after its first; None: all."""
  jitter_s: float = 0.0
  """A trace's arrivals are delayed by up to this, uniformly: spreads those
  that share a tick of a coarse clock."""
  num_requests: int | None = None
  """None: the whole trace; 100 for synthetic."""
  skip_requests: int = 0
  """Requests of a trace to pass over before the first."""
  seed: int = 0
  """Of arrivals, lengths and the tokens of prompts."""
  arrival: Literal[
      "trace", "poisson", "gamma", "constant", "all_at_once", "closed",
      "semi_open",
  ] | None = None
  """None: `trace` for traces, `poisson` for synthetic."""
  rate: float | None = None
  """Requests per second; needed by poisson, gamma, constant and semi_open. A
  trace's gaps are scaled to it."""
  arrival_cv: float = 1.0
  """Coefficient of variation of gamma gaps; above 1 they come in bursts."""
  concurrency: int | None = None
  """Users of a closed loop, each with one request at a time."""
  think_time_s: float = 0.0
  """Mean of the exponential pause between an answer and its user's next
  request (closed, semi_open, `turns`)."""
  stay_probability: float = 0.5
  """Chance that a user of a semi-open loop asks again after an answer."""
  lengths: str | None = None
  """A name in `pdjax.workload.presets`, in place of `prompt` and `output`."""
  prompt: Lengths = Lengths()
  """What is asked; of a conversation, what each turn adds."""
  output: Lengths = Lengths(mean=128.0)
  turns: Lengths | None = None
  """Requests of a conversation: each continues the one before, with its prompt
  and answer before what it adds. `rate` still counts requests."""
  time_scale: float = 1.0
  """Multiplies a trace's gaps: 2 halves its rate."""
  length_scale: float = 1.0
  """Multiplies a trace's prompt and output lengths."""
  max_prompt_tokens: int | None = None
  """Longer prompts are cut to this; a conversation ends before the turn whose
  prompt would be longer. The count is recorded."""
  max_output_tokens: int | None = None
  """Longer answers are cut to this; the count is recorded."""
  max_tokens: int | None = None
  """What requests declare; None declares each one's true length."""
  cancel_fraction: float = 0.0
  """Share of requests whose clients give up, unless they are served first."""
  cancel_after_s: float = 10.0
  """Mean of the exponential wait from arrival until a client gives up."""
  deadline_s: float | None = None
  """Requests not finished so long after their arrival are given up."""
  stop: Literal["forced_length", "eos"] = "forced_length"
  """An answer has its true length whatever it says, or ends at an end token
  of real weights."""
  protocol: Literal["count", "steady"] = "count"
  """`count` serves a number of requests to their end, cold start and all;
  `steady` measures those of a time window, under load before and after."""
  duration_s: float | None = None
  """Of the window of `steady`, the same at every rate; default 60."""
  warmup_s: float | None = None
  """Before the window; default a quarter of `duration_s`."""
