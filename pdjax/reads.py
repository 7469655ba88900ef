"""Which fields a run reads, and what an unsaid one stands for.

A field that the strategy, the backend or the workload never reads is an error
in a single run and is dropped from a sweep's cell, so that equal cells merge.
Where what decides that is unknown, a field counts as read, and what an unsaid
one stands for is unknown too.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pdjax import config
from pdjax.config import RoleChange, Run, TransferPlan, parse_split
from pdjax.ranges import HARMS
from pdjax.unknown import UNKNOWN, Withheld, known
from pdjax.window import lasting


@dataclasses.dataclass(frozen=True)
class _Reads:
  """Fields (a path or the start of one) and when a run reads them."""

  paths: tuple[str, ...]
  when: Callable[[Run], bool]
  reason: str


RATED = ("poisson", "gamma", "constant", "semi_open")
"""Arrivals that need `workload.rate`."""

SEED = "workload.seed"
"""Read where a workload draws anything."""

SYNTHETIC_REQUESTS = 100
"""Of a synthetic workload that does not say how many."""


def _builtin(*kinds: str) -> Callable[[Run], bool]:
  """One of these strategies, or another than ours, which may read anything."""
  others = set(config.BUILTIN_STRATEGIES).difference(kinds)
  return lambda run: run.strategy.kind not in others


def _simulated(run: Run) -> bool:
  return run.backend.kind == "simulated"


def _measured(run: Run) -> bool:
  return run.backend.kind == "jax"


def _from_trace(run: Run) -> bool:
  return run.workload.kind != "synthetic"


def _users(run: Run) -> bool:
  return run.strategy.kind not in config.BUILTIN_STRATEGIES


def _moves_pages(run: Run) -> bool:
  return _users(run) or run.strategy.kind in config.HANDING_OVER


def _may_fail_transfer(run: Run) -> bool:
  """Whether a transfer may fail: dropped, with its worker, or found damaged."""
  plan = run.strategy.transfer
  return _moves_pages(run) and (
      run.faults.hits_transfers("dropped")
      or run.faults.loses_workers
      or bool(plan and plan.verify)
  )


def _granularity(run: Run) -> str:
  plan = run.strategy.transfer
  return plan.granularity if plan else "request"


def _caches_prefixes(run: Run) -> bool:
  return bool(resolved(run).strategy.prefix_cache)


def _draws(run: Run) -> bool:
  """Whether a seed of the workload changes anything."""
  return (
      _measured(run)
      or arrival_of(run.workload) in _DRAWN_ARRIVALS
      or _pauses(run.workload)
      or run.workload.cancel_fraction > 0
      or (not _from_trace(run) and _draws_lengths(run.workload))
  )


_DRAWN_ARRIVALS = ("poisson", "gamma", "semi_open")


def _pauses(workload: config.Workload) -> bool:
  """Whether a trace's arrivals are delayed, or users of a loop think."""
  if workload.turns is not None:
    return workload.think_time_s > 0
  match arrival_of(workload):
    case "trace":
      return workload.jitter_s > 0
    case "closed":
      return workload.think_time_s > 0
    case _:
      return False


def _draws_lengths(workload: config.Workload) -> bool:
  laws = (workload.prompt, workload.output, workload.turns)
  drawn = any(law is not None and law.kind != "fixed" for law in laws)
  return workload.lengths is not None or drawn


def _lengths(name: str, *kinds: str) -> Callable[[Run], bool]:
  def drawn(run: Run) -> bool:
    law = getattr(run.workload, name)
    return law is not None and law.kind in kinds

  return drawn


_READS = (
    _Reads(
        ("strategy.chunk_size", "cluster.pools.chunk_size"),
        _builtin(
            "chunked", "adaptive_chunk", "vllm_v1", "lanes",
            *config.HANDING_OVER,
        ),
        "only chunked prefill cuts prompts",
    ),
    _Reads(
        ("strategy.priority",),
        lambda run: run.strategy.kind == "continuous",
        "only continuous batching chooses who goes first",
    ),
    _Reads(
        ("strategy.max_num_batched_tokens",),
        _builtin("continuous", "static", "lanes", *config.HANDING_OVER),
        "chunked prefill is bounded by strategy.chunk_size",
    ),
    _Reads(
        ("strategy.step_costs",),
        lambda run: run.strategy.kind == "adaptive_chunk",
        "only adaptive_chunk asks what a step would take",
    ),
    _Reads(
        ("strategy.elastic",),
        lambda run: run.strategy.kind == "elastic",
        "only elastic disaggregation changes roles",
    ),
    _Reads(
        ("strategy.lanes",),
        _builtin("lanes"),
        "only lanes, or a policy of one's own, shares a chip out",
    ),
    _Reads(
        ("strategy.local_prompt_tokens", "strategy.local_prefix_share"),
        lambda run: run.strategy.kind == "conditional",
        "only conditional disaggregation prefills on decode workers",
    ),
    _Reads(
        ("strategy.local_prefix_share",),
        _caches_prefixes,
        "nothing is cached while strategy.prefix_cache is off",
    ),
    _Reads(
        ("strategy.first_token", "strategy.transfer"),
        _moves_pages,
        "only disaggregation hands requests over",
    ),
    _Reads(
        ("strategy.transfer.layers",),
        lambda run: _granularity(run) == "layers",
        "only granularity='layers' moves pages layer by layer",
    ),
    _Reads(
        ("cluster.reserve_pages",),
        lambda run: run.strategy.kind != "vllm_v1",
        "vllm_v1 keeps no pages in reserve",
    ),
    _Reads(
        ("strategy.options",),
        _users,
        "only a user's policy ('module:factory') takes options",
    ),
    _Reads(
        ("cluster.link",),
        _moves_pages,
        "only disaggregation has a link between workers",
    ),
    _Reads(
        ("cluster.link.latency_s",),
        lambda run: (
            _simulated(run)
            or run.cluster.link.bandwidth_bytes_per_s is not None
        ),
        "the jax backend slows transfers only where"
        " cluster.link.bandwidth_bytes_per_s is said",
    ),
    _Reads(
        (
            "cluster.chip", "cluster.chips", "cluster.pools.chip",
            "cluster.hbm_utilization", "backend.costs",
        ),
        _simulated,
        "the jax backend runs on the chips it finds",
    ),
    _Reads(
        ("backend.draw",),
        lambda run: _simulated(run) and run.backend.costs in config.NAMED_COSTS,
        "only assumed or fitted costs of the simulator have an uncertainty to"
        " draw from",
    ),
    _Reads(
        ("backend.padding",),
        lambda run: (
            _simulated(run)
            and run.backend.costs in config.NAMED_COSTS
            and config.lanes_of(run.strategy) is None
            and run.strategy.kind != "adaptive_chunk"
        ),
        "only assumed or fitted costs are padded: a calibration is of padded"
        " passes, our engine has no lanes, and adaptive_chunk weighs the steps"
        " as they are",
    ),
    _Reads(
        ("engine.max_programs",),
        lambda run: _measured(run) or run.backend.padding == "engine",
        "only our own engine, or backend.padding='engine', compiles for sizes",
    ),
    _Reads(
        (
            "model.weight_dtype", "model.product_dtype", "model.kv_dtype",
        ),
        _simulated,
        "the jax backend keeps everything in model.dtype",
    ),
    _Reads(
        tuple(
            f"cluster.{part}{name}"
            for part in ("", "pools.")
            for name in ("dp", "ep", "microbatches")
        ),
        _simulated,
        "the jax backend splits a worker by tp alone",
    ),
    _Reads(
        ("cluster.host_kv_tokens",),
        _caches_prefixes,
        "nothing is evicted to host memory while strategy.prefix_cache is off",
    ),
    _Reads(
        ("cluster.host_bytes_per_s",),
        lambda run: (
            _simulated(run) and _caches_prefixes(run)
            and run.cluster.host_kv_tokens is not None
        ),
        "only simulated pages in host memory (cluster.host_kv_tokens) have a"
        " rate to say",
    ),
    _Reads(
        (
            "cluster.host_devices", "cluster.share_devices", "model.seed",
            "sampling.temperature", "engine.matmul_precision",
            "engine.kernels",
            "engine.verify_tokens",
            "engine.device_flops_per_s", "engine.device_bytes_per_s",
        ),
        _measured,
        "the simulator computes no tokens and uses no devices",
    ),
    _Reads(
        ("strategy.transfer.verify",),
        lambda run: _measured(run) or run.faults.hits_transfers("corrupted"),
        "the simulator moves no bytes, and no fault damages any",
    ),
    _Reads(
        tuple(f"faults.{harm}_share" for harm in HARMS),
        _moves_pages,
        "only disaggregation has transfers",
    ),
    _Reads(
        ("faults.delay_s",),
        lambda run: run.faults.hits_transfers("delayed"),
        "no fault delays a transfer",
    ),
    _Reads(
        ("faults.slow_factor",),
        lambda run: run.faults.hits_transfers("slowed"),
        "no fault slows a transfer",
    ),
    _Reads(
        ("faults.worker_down_s",),
        lambda run: run.faults.worker_up_s is not None,
        "faults.worker_up_s draws no loss of a worker",
    ),
    _Reads(
        ("faults.seed",),
        lambda run: run.faults.draws,
        "nothing of the faults is drawn",
    ),
    _Reads(
        ("faults.recovery", "faults.retries"),
        lambda run: _may_fail_transfer(run) or run.faults.loses_workers,
        "no fault is there to recover from",
    ),
    _Reads(
        ("faults.retries",),
        lambda run: run.faults.recovery != "fail",
        "faults.recovery='fail' recovers nothing",
    ),
    _Reads(
        ("faults.backoff_s",),
        lambda run: (
            run.faults.recovery == "retry" and _may_fail_transfer(run)
        ),
        "no failed transfer is sent again",
    ),
    _Reads(
        ("faults.wait_s",),
        lambda run: run.faults.loses_workers,
        "no fault takes a worker",
    ),
    _Reads(
        ("model.weights",),
        lambda run: _measured(run) or run.model.preset == config.FROM_WEIGHTS,
        "the simulator computes no tokens, and model.preset says the sizes",
    ),
    _Reads(
        (
            "sampling.seed", "sampling.top_k", "sampling.top_p",
            "sampling.min_p",
        ),
        lambda run: _measured(run) and run.sampling.temperature > 0,
        "greedy sampling draws nothing",
    ),
    _Reads(
        ("sampling.stop_ids", "sampling.stop"),
        lambda run: _measured(run) and run.workload.stop == "eos",
        "only workload.stop='eos' lets an answer end before its length",
    ),
    _Reads(
        ("cluster.split", *(f"cluster.{name}" for name in config.DEGREES)),
        lambda run: run.cluster.pools is None,
        "cluster.pools says it already",
    ),
    _Reads(
        (
            "workload.path", "workload.skip_requests", "workload.length_scale",
            "workload.skip_bad_rows", "workload.start_s", "workload.end_s",
        ),
        _from_trace,
        "a synthetic workload has no trace",
    ),
    _Reads(
        ("workload.prompt", "workload.output", "workload.lengths"),
        lambda run: not _from_trace(run),
        "the trace has the lengths",
    ),
    _Reads(
        ("workload.turns",),
        lambda run: (
            not _from_trace(run)
            and arrival_of(run.workload) not in ("closed", "semi_open")
        ),
        "only synthetic requests with arrivals of their own are turns of a"
        " conversation: a trace names its prefixes, users of a loop begin anew",
    ),
    _Reads(
        ("workload.prompt", "workload.output"),
        lambda run: run.workload.lengths is None,
        "workload.lengths says it already",
    ),
    _Reads(
        (SEED,),
        _draws,
        "it draws nothing (the lengths, arrivals and patience are given), so"
        " seeds would be one run counted again; of a trace"
        " workload.arrival='poisson' keeps the lengths and draws the arrivals,"
        " workload.jitter_s shifts them",
    ),
    _Reads(
        ("workload.time_scale", "workload.jitter_s"),
        lambda run: arrival_of(run.workload) == "trace",
        "arrivals do not come from a trace",
    ),
    _Reads(
        ("workload.rate",),
        lambda run: arrival_of(run.workload) in (*RATED, "trace"),
        "the arrivals have no rate to set",
    ),
    _Reads(
        ("workload.concurrency",),
        lambda run: arrival_of(run.workload) == "closed",
        "only a closed loop has a number of users",
    ),
    _Reads(
        ("workload.think_time_s",),
        lambda run: (
            run.workload.turns is not None
            or arrival_of(run.workload) in ("closed", "semi_open")
        ),
        "arrivals do not wait for answers",
    ),
    _Reads(
        ("workload.stay_probability",),
        lambda run: arrival_of(run.workload) == "semi_open",
        "only users of a semi-open loop come and leave",
    ),
    _Reads(
        ("workload.duration_s", "workload.warmup_s"),
        lambda run: run.workload.protocol == "steady",
        "only the steady protocol has a window",
    ),
    _Reads(
        ("workload.num_requests",),
        lambda run: not timed(run.workload),
        "the window and the rate say how many requests there are",
    ),
    _Reads(
        ("workload.arrival_cv",),
        lambda run: arrival_of(run.workload) == "gamma",
        "only gamma arrivals have a coefficient of variation",
    ),
    _Reads(
        ("workload.cancel_after_s",),
        lambda run: run.workload.cancel_fraction > 0,
        "workload.cancel_fraction=0 draws no cancellation",
    ),
    _Reads(
        ("slo.unloaded_s",),
        lambda run: (
            bool(run.slo.slowdowns) or run.slo.preset in config.RELATIVE_SLOS
        ),
        "nothing in the SLO is relative to it",
    ),
    *(
        _Reads((f"workload.{name}.{field}",), _lengths(name, *kinds), reason)
        for name in ("prompt", "output", "turns")
        for field, kinds, reason in (
            ("mean", ("fixed", "lognormal"), "empirical lengths are drawn"
             " from values"),
            ("cv", ("lognormal",), "only lognormal lengths vary by cv"),
            ("low", ("lognormal",), "only lognormal lengths are cut"),
            ("high", ("lognormal",), "only lognormal lengths are cut"),
            ("values", ("empirical",), "only empirical lengths have values"),
        )
    ),
)


def vain(run: Run, said: Iterable[str]) -> dict[str, str]:
  """The fields among `said` that the run never reads, and why."""
  result: dict[str, str] = {}
  for path in said:
    for reads in (*_READS, *_own_chip(path)):
      if _within(path, reads.paths) and _asked(reads.when, run) is False:
        result.setdefault(path, reads.reason)
  return result


def unit(path: str) -> str:
  """What is read or not as one: of a chip of one's own all its figures."""
  names = path.split(".")
  return ".".join(names[:3] if path.startswith(_OWN_CHIPS) else names)


_OWN_CHIPS = "cluster.chips."


def _own_chip(path: str) -> Iterator[_Reads]:
  """A chip of one's own is read where a worker is said to run on it."""
  if not path.startswith(_OWN_CHIPS):
    return
  name = unit(path).removeprefix(_OWN_CHIPS)

  def runs_on_it(run: Run) -> bool:
    pools = run.cluster.pools or ()
    on = {run.cluster.chip, *(pool.chip for pool in pools)}
    # A name with a dot in it looks like a figure of another.
    return any(f"{chip}.".startswith(f"{name}.") for chip in on)

  yield _Reads((unit(path),), runs_on_it, "no worker runs on this chip")


def _asked(question: Callable[[Run], Any], run: Run) -> Any:
  try:
    return question(run)
  except Withheld:
    return UNKNOWN


def _within(path: str, heads: tuple[str, ...]) -> bool:
  return any(path == head or path.startswith(head + ".") for head in heads)


def roles_of(run: Run) -> set[str]:
  """The roles of the run's workers; empty if the split cannot be read."""
  if run.cluster.pools is not None:
    return {pool.role for pool in run.cluster.pools}
  try:
    return set(parse_split(run.cluster.split))
  except ValueError:
    return set()


def arrival_of(workload: config.Workload) -> str:
  """The arrival process, said or implied."""
  implied = "poisson" if workload.kind == "synthetic" else "trace"
  return workload.arrival or implied


def timed(workload: config.Workload) -> bool:
  """Whether requests are counted by a window instead of a number.

  A loop's are not: how many it sends depends on the system.
  """
  return workload.protocol == "steady" and arrival_of(workload) in (
      "poisson", "gamma", "constant", "trace"
  )


def _implied_num_requests(run: Run) -> int | None:
  workload = run.workload
  counted = workload.kind == "synthetic" and workload.protocol == "count"
  return SYNTHETIC_REQUESTS if counted else None


def _implied_window(run: Run, part: int) -> float | None:
  steady = run.workload.protocol == "steady"
  return lasting(run.workload)[part] if steady else None


def _implied_first_token(run: Run) -> str | None:
  return "at_prefill" if _hands_over(run) else None


def _implied_transfer(run: Run) -> TransferPlan | None:
  return TransferPlan() if _hands_over(run) else None


def _implied_reserve_at(run: Run) -> str | None:
  plan = run.strategy.transfer
  return plan.reserves_at if plan else None


def _implied_local(run: Run, value: float) -> float | None:
  return value if run.strategy.kind == "conditional" else None


def _implied_prefix_share(run: Run) -> float | None:
  return _implied_local(run, 0.5) if run.strategy.prefix_cache else None


def _hands_over(run: Run) -> bool:
  return _moves_pages(run) and {"P", "D"} <= roles_of(run)


_IMPLIED_CHUNKS = {"chunked": 512, "adaptive_chunk": 2048, "vllm_v1": 2048}

_IMPLIED: dict[str, Callable[[Run], Any]] = {
    "strategy.priority": (
        lambda run: (
            "prefill_first" if run.strategy.kind == "continuous" else None
        )
    ),
    "strategy.chunk_size": (
        lambda run: _IMPLIED_CHUNKS.get(run.strategy.kind)
    ),
    "strategy.max_num_batched_tokens": (
        lambda run: (
            None
            if run.strategy.kind in _IMPLIED_CHUNKS
            else config.WHOLE_PROMPT_TOKENS
        )
    ),
    "strategy.max_num_seqs": lambda run: config.most_seqs(run.strategy),
    "strategy.prefix_cache": lambda run: run.strategy.kind == "vllm_v1",
    "strategy.elastic": (
        lambda run: RoleChange() if run.strategy.kind == "elastic" else None
    ),
    "strategy.lanes": lambda run: config.lanes_of(run.strategy),
    "strategy.local_prompt_tokens": (
        lambda run: _implied_local(run, config.LOCAL_PROMPT_TOKENS)
    ),
    "strategy.local_prefix_share": _implied_prefix_share,
    "strategy.first_token": _implied_first_token,
    "strategy.transfer": _implied_transfer,
    "strategy.transfer.reserve_at": _implied_reserve_at,
    "workload.arrival": lambda run: arrival_of(run.workload),
    "workload.num_requests": _implied_num_requests,
    "workload.duration_s": lambda run: _implied_window(run, 0),
    "workload.warmup_s": lambda run: _implied_window(run, 1),
}
"""What a field stands for if it is left unsaid."""


def resolved(run: Run) -> Run:
  """The run with what was left unsaid filled in, where it has a meaning."""
  for path, meaning in _IMPLIED.items():
    run = _filled(run, path.split("."), _asked(meaning, run))
  return run


def _filled(part: Any, names: list[str], value: Any) -> Any:
  """`part` with a field of it, or of a part of it, filled if it is unsaid."""
  if part is None or not known(part):
    return part
  name, *rest = names
  inner = getattr(part, name)
  if rest:
    inner = _filled(inner, rest, value)
  elif known(inner) and inner is None:
    inner = value
  return dataclasses.replace(part, **{name: inner})
