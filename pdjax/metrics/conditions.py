"""Under what conditions a run's numbers hold, and which runs may be compared.

The *contract* must be equal before two numbers form a ratio. The *design* is
what is being compared: it may differ and is always shown. Nothing about the
date, the host or the duration is here; see `pdjax.metrics.provenance`.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from pdjax import config
from pdjax.metrics.anchors import ANCHOR_OF, ANCHORS
from pdjax.metrics.slo import terms_of
from pdjax.metrics.summary import chips_of

_WORKLOAD_CONTRACT = (
    "content_sha256", "arrival", "rate_per_s", "users", "protocol", "window",
    "stop",
)


def conditions(
    run: config.Run,
    workload: Mapping[str, Any],
    *,
    chip: str | None = None,
    chips: int | None = None,
    cost_profile: str | None = None,
    weights: Mapping[str, str] | None = None,
    workers: Sequence[Mapping[str, Any]] = (),
    notes: Sequence[str] = (),
) -> dict[str, Any]:
  """What `conditions.json` holds: contract, design, workload and notes.

  Args:
    run: the resolved config.
    workload: `Workload.conditions`.
    chip: kind of the devices used; None takes the pools' chips.
    chips: all chips used; None counts those of the pools.
    cost_profile: what the simulator's costs rest on.
    weights: `file` and `sha256` of the weights; None where they are random.
    workers: what each worker turned out to have, by worker number, such as
      `pool_pages`; shown in its pool, instead of what was left unsaid there.
    notes: what else a reader must know, such as "devices share 2 cores".
  """
  return {
      "contract": {
          "backend": run.backend.kind,
          "chip": chip or _chips(run),
          "own_chips": _own_chips(run),
          "chips": chips or chips_of(run),
          "cost_profile": cost_profile,
          "model": model_name(run.model),
          "weights": (
              f"sha256 {weights['sha256']}" if weights else _weights(run.model)
          ),
          "dtype": run.model.dtype,
          "weight_dtype": run.model.weight_dtype,
          "product_dtype": run.model.product_dtype,
          "kv_dtype": run.model.kv_dtype,
          "sampling": _sampling(run.sampling),
          "slo": slo_words(run.slo),
          "first_token_anchor": _anchor(run),
          "prefix_cache": _prefix_cache(run.strategy),
          "faults": _faults(run),
          **{name: workload.get(name) for name in _WORKLOAD_CONTRACT},
      },
      "design": {
          **_design(run),
          "pools": _pools(run, workers, chip),
          **({"weights": dict(weights)} if weights else {}),
      },
      "workload": dict(workload),
      "notes": list(notes),
  }


def comparable(
    a: Mapping[str, Any], b: Mapping[str, Any]
) -> list[str]:
  """Contract fields in which two runs differ; empty where ratios are fair.

  A run in which no request moves between workers has no anchor of its own
  (null) and agrees with any.
  """
  ours, theirs = a["contract"], b["contract"]
  return [
      name
      for name in sorted(ours.keys() | theirs.keys())
      if ours.get(name) != theirs.get(name)
      and not (
          name == "first_token_anchor"
          and None in (ours.get(name), theirs.get(name))
      )
  ]


def flips(
    a: Mapping[str, Any], b: Mapping[str, Any], stem: str = "p50_ttft"
) -> list[str]:
  """Anchors under which the order of two summaries is another one.

  `stem` names the figure: `p50_ttft` (smaller is better), `slo_attainment`
  (larger is better). The order at the first anchor is the one that holds.
  """
  unit = "" if stem.startswith("slo") else "_ms"
  order = [
      _sign(a[f"{stem}_{anchor}{unit}"], b[f"{stem}_{anchor}{unit}"])
      for anchor in ANCHORS
  ]
  return [
      anchor
      for anchor, sign in zip(ANCHORS, order, strict=True)
      if sign != order[0]
  ]


def _sign(a: float | None, b: float | None) -> int | None:
  return None if a is None or b is None else (a > b) - (a < b)


def _prefix_cache(strategy: config.Strategy) -> str:
  """Its policy, and its state when the run begins."""
  on = "empty at the start; the page unused for longest goes first"
  return on if strategy.prefix_cache else "off"


_RECOVERY = ("recovery", "retries", "backoff_s", "wait_s")
"""What of `faults` the scheduler decides."""


def _faults(run: config.Run) -> dict[str, Any] | None:
  """What goes wrong on purpose; how requests recover is part of the design."""
  if not run.faults.anything:
    return None
  fields = _lists(dataclasses.asdict(run.faults))
  return {
      name: value for name, value in fields.items() if name not in _RECOVERY
  }


def _recovery(run: config.Run) -> dict[str, Any] | None:
  if not run.faults.anything:
    return None
  return {name: getattr(run.faults, name) for name in _RECOVERY}


def _lists(value: Any) -> Any:
  if isinstance(value, dict):
    return {key: _lists(item) for key, item in value.items()}
  if isinstance(value, (tuple, list)):
    return [_lists(item) for item in value]
  return value


def _anchor(run: config.Run) -> str | None:
  if not any(pool.role == "P" for pool in config.pools_of(run)):
    return None
  return ANCHOR_OF[run.strategy.first_token or "at_prefill"]


def _chips(run: config.Run) -> str | None:
  kinds = {pool.chip for pool in config.pools_of(run) if pool.chip}
  return " + ".join(sorted(kinds)) or None


def _own_chips(run: config.Run) -> dict[str, dict[str, Any]] | None:
  """The figures of chips that the config describes itself, of those used."""
  used = {pool.chip for pool in config.pools_of(run) if pool.chip}
  own = run.cluster.chips
  return {name: dict(own[name]) for name in sorted(own.keys() & used)} or None


def model_name(model: config.Model) -> str:
  """The preset's name, or that of the weights whose sizes it has."""
  if model.preset == config.FROM_WEIGHTS:
    return PurePath(model.weights).name
  return model.preset


def _weights(model: config.Model) -> str:
  seeded = model.weights == "random"
  return f"random, seed {model.seed}" if seeded else model.weights


def _sampling(sampling: config.Sampling) -> dict[str, Any]:
  fields = dataclasses.asdict(sampling)
  return {
      name: list(value) if isinstance(value, tuple) else value
      for name, value in fields.items()
  }


def slo_words(slo: config.SLO) -> dict[str, Any]:
  """An SLO as the contract states it, shorthands spelled out."""
  return {
      "terms": [list(dataclasses.astuple(term)) for term in terms_of(slo)],
      "join": slo.join,
      "attainment": slo.attainment,
  }


def _design(run: config.Run) -> dict[str, Any]:
  """What a study varies, each pool spelled out."""
  strategy, cluster = run.strategy, run.cluster
  return {
      "strategy": strategy.kind,
      "priority": strategy.priority,
      "options": dict(strategy.options),
      "split": split_of(run),
      "chunk_size": strategy.chunk_size,
      "max_num_batched_tokens": _whole_prompt_tokens(run),
      "max_num_seqs": strategy.max_num_seqs,
      "router": strategy.router,
      "first_token": strategy.first_token,
      "local_prompt_tokens": strategy.local_prompt_tokens,
      "local_prefix_share": strategy.local_prefix_share,
      **{
          name: dataclasses.asdict(rule) if rule else None
          for name, rule in (
              ("elastic", strategy.elastic), ("lanes", strategy.lanes),
              ("transfer", strategy.transfer),
          )
      },
      "recovery": _recovery(run),
      "page_tokens": cluster.page_tokens,
      "reserve_pages": cluster.reserve_pages,
      "hbm_utilization": cluster.hbm_utilization,
      "host_kv_tokens": cluster.host_kv_tokens,
      "share_devices": cluster.share_devices,
      "dispatch_ahead": run.engine.dispatch_ahead,
  }


def _whole_prompt_tokens(run: config.Run) -> int | None:
  """Prompt tokens of a step that takes whole prompts, if any does."""
  if run.strategy.chunk_size is not None:
    return run.strategy.max_num_batched_tokens
  return (
      run.strategy.max_num_batched_tokens or config.WHOLE_PROMPT_TOKENS
  )


def _pools(
    run: config.Run, workers: Sequence[Mapping[str, Any]], chip: str | None
) -> list[dict[str, Any]]:
  """Each pool with what its workers have; they are alike."""
  pools, first = [], 0
  for pool in config.pools_of(run):
    found = dict(workers[first]) if first < len(workers) else {}
    pools.append(dataclasses.asdict(pool) | {"chip": pool.chip or chip} | found)
    first += pool.count
  return pools


def split_of(run: config.Run) -> str:
  """The pools in short: `2P2D`."""
  counts: dict[str, int] = {}
  for pool in config.pools_of(run):
    counts[pool.role] = counts.get(pool.role, 0) + pool.count
  return "".join(f"{count}{role}" for role, count in counts.items())
