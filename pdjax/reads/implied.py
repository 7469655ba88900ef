"""What an unsaid field stands for."""

import dataclasses
from collections.abc import Callable
from typing import Any

from pdjax import config
from pdjax.config import RoleChange, Run, TransferPlan
from pdjax.reads.arrivals import arrival_of
from pdjax.reads.questions import asked, hands_over
from pdjax.unknown import known
from pdjax.window import lasting

SYNTHETIC_REQUESTS = 100
"""Of a synthetic workload that does not say how many."""


def resolved(run: Run) -> Run:
  """The run with what was left unsaid filled in, where it has a meaning."""
  for path, meaning in _IMPLIED.items():
    run = _filled(run, path.split("."), asked(meaning, run))
  return run


def caches_prefixes(run: Run) -> bool:
  """Whether workers keep pages of prompts, said or implied."""
  return bool(resolved(run).strategy.prefix_cache)


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


def _implied_num_requests(run: Run) -> int | None:
  workload = run.workload
  counted = workload.kind == "synthetic" and workload.protocol == "count"
  return SYNTHETIC_REQUESTS if counted else None


def _implied_window(run: Run, part: int) -> float | None:
  steady = run.workload.protocol == "steady"
  return lasting(run.workload)[part] if steady else None


def _implied_first_token(run: Run) -> str | None:
  return "at_prefill" if hands_over(run) else None


def _implied_transfer(run: Run) -> TransferPlan | None:
  return TransferPlan() if hands_over(run) else None


def _implied_reserve_at(run: Run) -> str | None:
  plan = run.strategy.transfer
  return plan.reserves_at if plan else None


def _implied_local(run: Run, value: float) -> float | None:
  return value if run.strategy.kind == "conditional" else None


def _implied_prefix_share(run: Run) -> float | None:
  return _implied_local(run, 0.5) if run.strategy.prefix_cache else None


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
