"""The schema of one run: frozen, typed, keyword-only.

A config file's ConfigDict is converted to these classes by `pdjax.schema`,
which reports every error at once. `None` means "not said"; `reads.resolved`
fills it where the strategy gives it a meaning, and `reads.vain` names what was
said in vain. Units are in the names.
"""

import dataclasses
import re
from typing import Any, Literal

from pdjax.layout import Layout

Role = Literal["P", "D", "C"]

BUILTIN_STRATEGIES = (
    "continuous", "static", "chunked", "adaptive_chunk", "disaggregated",
    "conditional", "elastic", "vllm_v1", "lanes",
)
HANDING_OVER = ("disaggregated", "conditional", "elastic")
"""Those that need workers of roles P and D."""
DEGREES = ("tp", "pp", "dp", "ep", "microbatches")
"""Of parallelism within a worker: fields of a pool, and shorthands by role."""
NAMED_COSTS = ("analytical", "fitted")
"""Values of `backend.costs` that are no file."""
NAMED_WEIGHTS = ("random", "fetched")
"""Values of `model.weights` that are no file."""
RELATIVE_SLOS = ("splitwise",)
"""Values of `slo.preset` whose terms are slowdowns."""
FROM_WEIGHTS = "from_weights"
"""Value of `model.preset` that is no preset."""
WHOLE_PROMPT_TOKENS = 8192
"""Prompt tokens of a step that takes whole prompts, if the config is silent."""
LOCAL_PROMPT_TOKENS = 512
"""Uncached prompt tokens that a decode worker computes itself, likewise."""


_LONGEST_LINE = 800
"""Of a message; what a user typed may be longer."""


class ConfigError(ValueError):
  """One or more mistakes of the user; `errors` holds a line for each."""

  def __init__(self, errors: list[str]):
    self.errors = list(dict.fromkeys(map(_one_line, errors)))
    super().__init__("\n".join(self.errors))

  def __reduce__(self):
    """Made anew of its lines where it comes from another process."""
    return type(self), (self.errors,)


def _one_line(error: str) -> str:
  text = " ".join(error.splitlines())
  return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}..."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Backend:
  kind: Literal["jax", "simulated"] = "simulated"
  """`jax` computes on real devices, `simulated` prices the work."""
  costs: str = "analytical"
  """What prices simulated steps: `analytical` (first principles), `fitted` (the
  same, scalars fitted to published measurements of such chips), or the path of
  one's own calibration (`pdjax.calibrate`) or of a published profile of
  DistServe or Splitwise."""
  padding: Literal["none", "engine"] = "none"
  """Of simulated steps: `none` prices what is in them, `engine` what pdjax' own
  engine would make of them: prompts and decodes padded to the sizes that it
  compiles, of which `engine.max_programs` allows so many."""
  draw: int = 0
  """Draws what `analytical` and `fitted` costs assume anew, within its stated
  uncertainty; 0: as stated. A verdict should hold in 19 of 20 draws."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
  preset: str = "llama-3-8b"
  """A name in `pdjax.models.presets`, or `from_weights`: the sizes that the
  weights themselves state."""
  weights: str = "random"
  """`random`, `fetched` (`pdjax.models.fetch`), or a path: a GGUF file, a
  Hugging Face folder, or what `pdjax.models.convert` made of one."""
  dtype: Literal["float32", "bfloat16"] = "bfloat16"
  """Of weights, activations and the KV cache, unless one is said below."""
  weight_dtype: Literal["float32", "bfloat16", "fp8", "int8", "int4"] | None = (
      None
  )
  """Of the layers' matrices as stored; None: `model.dtype`."""
  product_dtype: Literal["float32", "bfloat16", "fp8", "int8"] | None = None
  """Of the arithmetic with them; None: theirs, if it has 8 bits and the chip
  multiplies it, else `model.dtype`."""
  kv_dtype: Literal["float32", "bfloat16", "fp8", "int8"] | None = None
  """Of the KV cache; None: `model.dtype`."""
  seed: int = 0
  """Of random weights."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pool:
  """Workers alike: `count` replicas of one role, each on chips of its own."""

  role: Role
  """P prefills, D decodes, C does both."""
  count: int
  """Workers in the pool."""
  tp: int = 1
  """Chips a worker splits each layer over (tensor parallel)."""
  pp: int = 1
  """Stages a worker splits the layers into; real devices allow 1 only."""
  dp: int = 1
  """Groups of `tp` chips that share out a worker's sequences, each of which is
  one group's (simulated)."""
  ep: int = 1
  """Parts of a stage's `tp * dp` chips that experts are dealt to; each is cut
  over the chips of its part (simulated)."""
  microbatches: int = 1
  """Parts of a step that pass through the stages one after another, at most as
  many as it has tokens (simulated)."""
  chip: str | None = None
  """None: `cluster.chip`."""
  chunk_size: int | None = None
  """None: `strategy.chunk_size`."""
  max_num_seqs: int | None = None
  """None: `strategy.max_num_seqs`."""
  kv_tokens: int | None = None
  """None: `cluster.kv_tokens`."""

  @property
  def layout(self) -> Layout:
    """How a worker's model lies on its chips."""
    return Layout(
        tp=self.tp, dp=self.dp, ep=self.ep, pp=self.pp,
        microbatches=self.microbatches,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Link:
  """Between any two workers; None takes the chip's own interconnect."""

  bandwidth_bytes_per_s: float | None = None
  """Per direction and worker; None: the chips' own interconnect. On real
  devices what moves is kept back as if the link were so slow."""
  latency_s: float = 20e-6
  """From the start of a transfer to its first byte."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cluster:
  pools: tuple[Pool, ...] | None = None
  """Workers pool by pool, in place of `split`, `tp` and its like."""
  split: str = "1C"
  """Shorthand for pools: `4C`, `2P2D`, `1P1D2C`."""
  tp: int | dict[str, int] = 1
  """Tensor parallel degree, for all pools of `split` or by role."""
  pp: int | dict[str, int] = 1
  """Pipeline stages, likewise; real devices allow 1 only."""
  dp: int | dict[str, int] = 1
  """Data-parallel groups in a worker, likewise (simulated)."""
  ep: int | dict[str, int] = 1
  """Parts that experts are dealt to, likewise (simulated)."""
  microbatches: int | dict[str, int] = 1
  """Parts of a step in a pipeline, likewise (simulated)."""
  chip: str | None = None
  """A name in `pdjax.simulate.chips` or `chips`; the simulator needs one."""
  chips: dict[str, dict[str, int | float | str]] = dataclasses.field(
      default_factory=dict
  )
  """Chips of one's own: figures of `pdjax.simulate.chip.Chip` by name, such as
  `{"mine": {"like": "h100-sxm", "hbm_bytes_per_s": 6e12}}`. Workers must run on
  each, and none may be named as a known one is."""
  link: Link = Link()
  page_tokens: int = 16
  """Tokens in one page of KV cache: 8, 16, 32, 64 or 128."""
  kv_tokens: int | None = None
  """Tokens of KV cache a worker; None: what its memory leaves (simulated),
  16384 on real devices."""
  hbm_utilization: float = 0.9
  """Share of memory given to weights, activations and KV (simulated)."""
  reserve_pages: int = 1
  """Pages kept free per running request at admission."""
  host_kv_tokens: int | None = None
  """Tokens of KV cache a worker keeps in host memory: what its prefix cache
  evicts comes back from there; None: none."""
  host_bytes_per_s: float = 50e9
  """Between a worker and its host memory, as pages come back (simulated)."""
  host_devices: int | None = None
  """Virtual CPU devices to split the host into; None: the devices found."""
  share_devices: bool = False
  """All workers on the same devices: real transfers, no isolation."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransferPlan:
  """How the pages of a prompt reach the decode worker."""

  granularity: Literal["request", "chunk", "layers"] = "request"
  """What moves in one piece: all pages of a request when its prompt is
  computed; those that each chunk fills, while the next is computed; or of each
  step's pages some layers, while the next layers are computed."""
  layers: int | None = None
  """Layers in a piece; granularity layers needs it."""
  reserve_at: Literal["prefill_end", "prefill_start", "arrival"] | None = None
  """When pages are reserved on the decode worker; with the last two no prompt
  starts without. Default prefill_end; chunk and layers:
  prefill_start."""
  direction: Literal["pull", "push"] = "pull"
  """Who fetches: any decode worker that has room takes a request, or the
  prefill worker sends it to one chosen before, and waits for that one's room.
  """
  payload: Literal["as_is", "int8"] = "as_is"
  """What goes over the link: pages as they are, or rounded to int8 with a scale
  for each token and head; then tokens are not exact."""
  staging_bytes: int | None = None
  """Most bytes of pages that are on their way from one worker at a time, as
  they travel; what is more waits for what has not landed, the oldest hand-off
  first. None: no bound."""
  verify: bool = False
  """Compares checksums of the pages at both ends (real backend)."""

  @property
  def group_layers(self) -> int:
    """Layers that move at a time while a step goes on; 0: none."""
    return self.layers or 0 if self.granularity == "layers" else 0

  @property
  def reserves_at(self) -> str:
    """`reserve_at`, or what it is if it is not said."""
    whole = self.granularity == "request"
    return self.reserve_at or ("prefill_end" if whole else "prefill_start")


WHOLE_REQUESTS = TransferPlan()
"""What is done where nothing is said."""


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lengths:
  """Distribution of token counts.

  fixed: `mean`. lognormal: `mean` and `cv` (coefficient of variation), cut to
  [low, high]. empirical: drawn from `values`, each with equal chance.
  """

  kind: Literal["fixed", "lognormal", "empirical"] = "fixed"
  """The law the lengths are drawn from."""
  mean: float = 512.0
  """Of the law before it is cut; a whole number when fixed."""
  cv: float = 1.0
  """Coefficient of variation: standard deviation / mean."""
  low: int = 1
  """Shorter draws are raised to this."""
  high: int | None = None
  """Longer draws are cut to this."""
  values: tuple[int, ...] = ()
  """Drawn from with equal chance."""


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


@dataclasses.dataclass(frozen=True, kw_only=True)
class SLO:
  """Service-level objective; see docs/metrics.md.

  A term is (metric, statistic, scope, limit in seconds), for instance
  ("ttft", "value", "request", 0.4) or ("itl", "p99", "run", 0.1).
  """

  preset: str | None = None
  """A published SLO, by its name in `pdjax.metrics.slopresets`."""
  terms: tuple[tuple[str, str, str, float], ...] = ()
  """(metric, statistic, scope, limit in seconds) each."""
  slowdowns: tuple[tuple[str, str, str, float], ...] = ()
  """(metric, statistic, scope, factor) each: a limit is the factor times the
  metric's value in `slo.unloaded_s`."""
  unloaded_s: dict[str, float] = dataclasses.field(default_factory=dict)
  """By metric, the latency of a request alone in a system of reference, one and
  the same for all rivals."""
  join: Literal["all", "each"] = "all"
  """A good request keeps all terms, or each term has its own share."""
  ttft_s: float | None = None
  """Shorthand for ("ttft", "value", "request", ttft_s)."""
  tpot_s: float | None = None
  """Shorthand for ("tpot", "value", "request", tpot_s)."""
  attainment: float = 0.9
  """Share of requests that must be good."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sampling:
  """How tokens are drawn, and what ends an answer before its length does."""

  temperature: float = 0.0
  """0 is greedy."""
  top_k: int = 0
  """Draws from the k most likely tokens; 0: from all."""
  top_p: float = 1.0
  """Of what top_k keeps, draws from the fewest most likely tokens that together
  have this share; 1: from all."""
  min_p: float = 0.0
  """Draws from tokens at least this likely relative to the best; 0: from
  all."""
  seed: int = 0
  """Of the draws; each request's own follows from it and its number."""
  stop_ids: tuple[int, ...] = ()
  """Tokens that end an answer, besides the end tokens of the weights."""
  stop: tuple[str, ...] = ()
  """Texts that end an answer with the token that completes one."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Engine:
  """Settings of real devices."""

  dispatch_ahead: Literal[0, 1] = 0
  """Decode steps in flight beyond the one being read; also simulated, of
  vllm_v1 as its asynchronous scheduling."""
  matmul_precision: Literal["default", "highest"] = "highest"
  """JAX's; `default` is faster on accelerators, tokens may then differ."""
  kernels: Literal[
      "auto", "xla", "pallas_tpu", "pallas_triton", "pallas_interpret"
  ] = "auto"
  """Attention over pages; `auto` is what the devices have, else XLA."""
  max_programs: int = 24
  """Compiled programs a worker; fewer compile sooner and pad more."""
  verify_tokens: int = 8
  """Requests whose tokens are checked against a plain forward pass."""
  device_flops_per_s: float | None = None
  """Most operations a second of one device in `model.dtype`, for MFU and
  compute-busy alone; None: its data sheet's, if JAX's name of it is known."""
  device_bytes_per_s: float | None = None
  """Most bytes a second of one device's memory, for MBU alone; likewise."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
  """One thing that goes wrong: at a time, or to a request.

  A fault of transfers hits the first of `request`, or the first to begin from
  `at_s` on. The others strike at `at_s`, or as soon as `request` is in `state`.
  """

  kind: Literal[
      "transfer_dropped", "transfer_delayed", "transfer_corrupted",
      "transfer_slowed", "worker_lost", "cancelled", "deadline",
  ]
  """What goes wrong; see docs/faults.md."""
  at_s: float | None = None
  """From the start of the run."""
  request: int | None = None
  """By its number, in order of arrival from 0; of conversations all turns of
  one, then those of the next."""
  state: Literal[
      "waiting", "prefill", "handoff", "transfer", "decode"
  ] | None = None
  """Of the request."""
  worker: int | None = None
  """Which is lost, by number; None: the one where the request is, the source
  of its transfer."""
  down_s: float | None = None
  """Until a lost worker is back with an empty pool; None: it stays away."""
  times: int = 1
  """Transfers hit one after another."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Faults:
  """What goes wrong in a run on purpose, and what becomes of those it hits."""

  events: tuple[Fault, ...] = ()
  """Faults one by one."""
  drop_share: float = 0.0
  """Share of transfers whose bytes never arrive."""
  delay_share: float = 0.0
  """Share of transfers that are late by `delay_s`."""
  corrupt_share: float = 0.0
  """Share of transfers that damage a page on the way."""
  slow_share: float = 0.0
  """Share of transfers that are `slow_factor` times as long on the link."""
  delay_s: float = 0.1
  """Of a delayed transfer."""
  slow_factor: float = 10.0
  """Of a slowed transfer: how often each byte is sent."""
  worker_up_s: float | None = None
  """Mean of the exponential time until a worker is lost; None: none is."""
  worker_down_s: float = 10.0
  """Mean of the exponential time until it is back with an empty pool."""
  seed: int = 0
  """Of all that is drawn here."""
  recovery: Literal["retry", "recompute", "fail"] = "retry"
  """A failed transfer is sent again, its prompt is computed elsewhere, or its
  request fails; pages lost with a worker are computed again, or fail."""
  retries: int = 2
  """Recoveries of one request; at the next fault it fails."""
  backoff_s: float = 0.01
  """Before a transfer is tried again; doubled each time (retry)."""
  wait_s: float = 30.0
  """How long a request waits while no worker is left that could take it."""

  @property
  def anything(self) -> bool:
    """Whether anything goes wrong at all."""
    return bool(self.events) or self.draws

  @property
  def draws(self) -> bool:
    return self.worker_up_s is not None or any(self.shares.values())

  @property
  def shares(self) -> dict[str, float]:
    """Of transfers, by what is done to them."""
    return {
        "dropped": self.drop_share, "delayed": self.delay_share,
        "corrupted": self.corrupt_share, "slowed": self.slow_share,
    }

  def hits_transfers(self, kind: str) -> bool:
    """Whether this can be done to a transfer: `dropped`, for instance."""
    kinds = {fault.kind for fault in self.events}
    return self.shares[kind] > 0 or f"transfer_{kind}" in kinds

  @property
  def loses_workers(self) -> bool:
    kinds = {fault.kind for fault in self.events}
    return self.worker_up_s is not None or "worker_lost" in kinds


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
  """One run, everything said: a cell of an experiment."""

  backend: Backend = Backend()
  model: Model = Model()
  cluster: Cluster = Cluster()
  strategy: Strategy = Strategy()
  workload: Workload = Workload()
  slo: SLO = SLO()
  sampling: Sampling = Sampling()
  engine: Engine = Engine()
  faults: Faults = Faults()


def parse_split(split: str) -> dict[str, int]:
  """Workers by role.

  >>> parse_split("1P1D2C")
  {'P': 1, 'D': 1, 'C': 2}

  Raises:
    ValueError: not of the form `xPyD`, `nC` or both.
  """
  shown = repr(split[:40])
  parts = re.findall(r"([0-9]{1,9})([PDC])", split)
  counts = {role: int(count) for count, role in parts}
  whole = "".join(count + role for count, role in parts)
  if not parts or whole != split or len(counts) < len(parts):
    raise ValueError(f"{shown} is not a split such as '2P2D', '4C', '1P1D2C'")
  if 0 in counts.values():
    raise ValueError(f"{shown} has a role with no worker; leave it out")
  return counts


def pools_of(run: Run) -> tuple[Pool, ...]:
  """The cluster's pools with shorthands expanded and defaults filled in."""
  cluster = run.cluster
  pools = cluster.pools or tuple(
      Pool(
          role=role,  # pyright: ignore[reportArgumentType]
          count=count,
          **{  # pyright: ignore[reportArgumentType]
              degree: _by_role(getattr(cluster, degree), role)
              for degree in DEGREES
          },
      )
      for role, count in parse_split(cluster.split).items()
  )
  return tuple(_filled(pool, run) for pool in pools)


def roles_of(run: Run) -> list[str]:
  """Of each worker, by worker number."""
  return [pool.role for pool in pools_of(run) for _ in range(pool.count)]


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


def place_of(run: Run, index: int, name: str) -> str:
  """Where a field of a pool of `pools_of` is said: there, or for all."""
  said, shared = run.cluster.pools, getattr(run.cluster, name)
  if said and getattr(said[index], name) is not None:
    return f"cluster.pools[{index}].{name}"
  if isinstance(shared, dict):
    return f"cluster.{name}.{pools_of(run)[index].role}"
  return f"cluster.{name}"


def _by_role(value: int | dict[str, int], role: str) -> int:
  return value.get(role, 1) if isinstance(value, dict) else value


def _filled(pool: Pool, run: Run) -> Pool:
  strategy, cluster = run.strategy, run.cluster
  return dataclasses.replace(
      pool,
      chip=_own_or(pool.chip, cluster.chip),
      chunk_size=_own_or(pool.chunk_size, strategy.chunk_size),
      max_num_seqs=_own_or(pool.max_num_seqs, most_seqs(strategy)),
      kv_tokens=_own_or(pool.kv_tokens, cluster.kv_tokens),
  )


def _own_or(own: Any, shared: Any) -> Any:
  return shared if own is None else own


def pages_for(tokens: int, page_tokens: int) -> int:
  """Pages that hold `tokens` tokens."""
  return -(-tokens // page_tokens)
