"""What is wrong with a run: questions asked one after another, each by itself.

A check is a small function that reads few fields and yields a line for each
mistake, which begins with the field it is about. That field is unknown to all
checks after it, so nothing is told that only follows from a mistake, and all
the rest is told at once.

The checks here follow from the config alone: whether a file exists or a
machine has the devices is asked elsewhere, and so is whether a field is read at
all (`pdjax.reads`).
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pdjax import config, faultchecks, ranges
from pdjax.config import Pool, Run, parse_split
from pdjax.fieldtypes import near, shown
from pdjax.reads import resolved, roles_of
from pdjax.unknown import UNKNOWN, known, told

Check = Callable[[Run], Iterable[str]]

PAGE_TOKENS = (8, 16, 32, 64, 128)


def mistakes(run: Run, checks: Iterable[Check]) -> list[str]:
  """A line for each mistake that the checks find, in their order."""
  lines: list[str] = []
  for check in checks:
    found = told(check, run)
    for line in found:
      run = doubted(run, line)
    lines += found
  return list(dict.fromkeys(lines))


def refusals(ask: Callable[[], object]) -> list[str]:
  """What is wrong with what is asked for; nothing where it is given."""
  try:
    ask()
  except config.ConfigError as error:
    return error.errors
  return []


def doubted(run: Run, line: str) -> Run:
  """The run with the field that a line is about unknown."""
  place = re.match(r"[\w.\[\]]*", line)
  return _without(run, re.findall(r"\w+", place[0] if place else ""))


def _without(value: Any, names: list[str]) -> Any:
  """`value` without what the names lead to; sections are never taken whole."""
  if not names or not known(value):
    return value if dataclasses.is_dataclass(value) else UNKNOWN
  name, *rest = names
  if dataclasses.is_dataclass(value) and hasattr(value, name):
    inner = _without(getattr(value, name), rest)
    return dataclasses.replace(
        value, **{name: inner}  # pyright: ignore[reportArgumentType]
    )
  if isinstance(value, dict) and name in value:
    return value | {name: _without(value[name], rest)}
  if isinstance(value, tuple) and name.isdecimal():
    at = int(name)
    return (*value[:at], _without(value[at], rest), *value[at + 1 :])
  return value


def of_each_pool(
    run: Run, name: str, check: Callable[[Pool, str], Iterable[str]]
) -> Iterator[str]:
  """Asks about a field of each pool, as `check(pool, place)`.

  `place` is where the field is said: in the pool, or for all of them.
  """
  for index, pool in enumerate(config.pools_of(run)):
    place = config.place_of(run, index, name)
    yield from told(lambda pool, at=place: check(pool, at), pool)


# Each field by itself. --------------------------------------------------------


def _page_tokens(run: Run) -> Iterator[str]:
  if run.cluster.page_tokens not in PAGE_TOKENS:
    allowed = ", ".join(map(str, PAGE_TOKENS))
    yield (
        f"cluster.page_tokens: must be one of {allowed},"
        f" got {shown(run.cluster.page_tokens)}"
    )


def _strategy(run: Run) -> Iterator[str]:
  kind = run.strategy.kind
  if ":" not in kind and kind not in config.BUILTIN_STRATEGIES:
    names = ", ".join(config.BUILTIN_STRATEGIES)
    wanted = near(kind, config.BUILTIN_STRATEGIES)
    yield (
        f"strategy.kind: unknown strategy {shown(kind)}; allowed: {names}, or"
        f" 'module:factory'{wanted}"
    )


def _router(run: Run) -> Iterator[str]:
  aware = run.strategy.router == "prefix_aware"
  if aware and not resolved(run).strategy.prefix_cache:
    yield (
        "strategy.router: 'prefix_aware' would change nothing while"
        " strategy.prefix_cache is off; use 'least_outstanding_tokens', or turn"
        " it on"
    )


def _split(run: Run) -> Iterator[str]:
  if run.cluster.pools is None:
    try:
      parse_split(run.cluster.split)
    except ValueError as error:
      yield f"cluster.split: {error}"


def _no_pool(run: Run) -> Iterator[str]:
  if run.cluster.pools is not None and not run.cluster.pools:
    yield "cluster.pools: needs at least one pool"


def _slo_limits(run: Run) -> Iterator[str]:
  for name, what in (("terms", "limit in seconds"), ("slowdowns", "factor")):
    for index, term in enumerate(getattr(run.slo, name)):
      start = f"slo.{name}[{index}]: the {what}"
      yield from told(lambda term, at=start: _slo_limit(at, term[3]), term)


def _slo_limit(start: str, limit: float) -> Iterator[str]:
  if limit not in ranges.LIMIT_S:
    yield f"{start} must be {ranges.LIMIT_S}, got {limit}"


# What one field needs of another. ---------------------------------------------


def _workers(run: Run) -> Iterator[str]:
  count = sum(pool.count for pool in config.pools_of(run))
  if count > ranges.MAX_WORKERS:
    said = "pools" if run.cluster.pools else "split"
    yield (
        f"cluster.{said}: {count} workers; at most {ranges.MAX_WORKERS} are"
        " possible"
    )


def _roles_of_degrees(run: Run) -> Iterator[str]:
  """`tp={'P': 2}` needs a P in the split."""
  if run.cluster.pools is None:
    for name in config.DEGREES:
      degree = getattr(run.cluster, name)
      for role in degree if isinstance(degree, dict) else ():
        yield from told(lambda run, n=name, r=role: _no_role(run, n, r), run)


def _no_role(run: Run, name: str, role: str) -> Iterator[str]:
  split = run.cluster.split
  roles = parse_split(split)
  if role not in roles:
    yield (
        f"cluster.{name}.{role}: no such role in split {split!r}; allowed:"
        f" {', '.join(roles)}"
    )


def _roles(run: Run) -> Iterator[str]:
  """Each built-in strategy runs on its own roles."""
  kind = run.strategy.kind
  if kind not in config.BUILTIN_STRATEGIES:
    return
  apart = kind in config.HANDING_OVER
  wanted = {"P", "D"} if apart else {"C"}
  if roles_of(run) != wanted:
    example = "2P2D" if apart else "4C"
    said = "pools" if run.cluster.pools else "split"
    yield (
        f"cluster.{said}: {kind} runs on workers of role"
        f" {' and '.join(sorted(wanted, reverse=True))}, such as {example!r};"
        f" got {_split_text(run)!r}"
    )


def _adaptive(run: Run) -> Iterator[str]:
  """Its budget follows a limit and what steps are expected to take."""
  if run.strategy.kind != "adaptive_chunk":
    return
  if run.slo.tpot_s is None:
    yield (
        "slo.tpot_s: adaptive_chunk needs it: a step may take no longer, or"
        " use strategy.kind='chunked'"
    )
  if run.backend.kind == "jax" and run.strategy.step_costs is None:
    yield (
        "strategy.step_costs: adaptive_chunk on real devices needs the file of"
        " a calibration (`python -m pdjax.calibrate`)"
    )


def _lanes(run: Run) -> Iterator[str]:
  """Two steps at a time on one chip are priced, never run."""
  if config.lanes_of(run.strategy) is None:
    return
  said = "lanes" if run.strategy.kind != "lanes" else "kind"
  if run.backend.kind == "jax":
    yield (
        f"strategy.{said}: two lanes share each chip between two steps at a"
        " time, which is simulated only; use backend.kind='simulated', or"
        " strategy.kind='chunked'"
    )
  elif run.backend.costs not in config.NAMED_COSTS:
    yield (
        f"backend.costs: {shown(run.backend.costs)} knows whole chips, and with"
        f" lanes each step has a share of one; use"
        f" {' or '.join(map(repr, config.NAMED_COSTS))}"
    )


def _pieces(run: Run) -> Iterator[str]:
  """Pages that move before their prompt is computed need a place and chunks."""
  plan = run.strategy.transfer
  if plan is None or plan.granularity == "request":
    return
  if plan.reserve_at == "prefill_end":
    yield (
        f"strategy.transfer.reserve_at: granularity {plan.granularity!r} moves"
        " pages before the prefill ends: 'prefill_start' or 'arrival', got"
        " 'prefill_end'"
    )
  if plan.granularity == "layers" and plan.layers is None:
    yield (
        "strategy.transfer.layers: granularity 'layers' needs it: how many move"
        " at a time"
    )
  pools = [pool for pool in config.pools_of(run) if pool.role == "P"]
  if plan.granularity == "chunk" and pools:
    if not any(pool.chunk_size for pool in pools):
      yield (
          "strategy.transfer.granularity: 'chunk' needs prompts in chunks: say"
          " strategy.chunk_size"
      )


def _payload(run: Run) -> Iterator[str]:
  """Rounding makes pages smaller only where they have more than 8 bits."""
  plan, kept = run.strategy.transfer, run.model.kv_dtype
  if plan is not None and plan.payload == "int8" and kept in ("fp8", "int8"):
    yield (
        "strategy.transfer.payload: 'int8' would save nothing:"
        f" model.kv_dtype is {kept!r} already"
    )


def _split_text(run: Run) -> str:
  if run.cluster.pools is None:
    return run.cluster.split
  return "".join(f"{pool.count}{pool.role}" for pool in run.cluster.pools)


def _chip_said(run: Run) -> Iterator[str]:
  if run.backend.kind == "simulated":
    if any(pool.chip is None for pool in config.pools_of(run)):
      yield (
          "cluster.chip: the simulated backend needs a chip, for instance"
          " 'h100-sxm'"
      )


def _whole_pages(run: Run) -> Iterator[str]:
  page_tokens = run.cluster.page_tokens

  def whole(pool: Pool, place: str) -> Iterator[str]:
    if pool.kv_tokens is not None and pool.kv_tokens < page_tokens:
      yield (
          f"{place}: {pool.kv_tokens} is less than one page of {page_tokens}"
          " tokens (cluster.page_tokens)"
      )

  yield from of_each_pool(run, "kv_tokens", whole)


def _end_tokens(run: Run) -> Iterator[str]:
  if run.workload.stop != "eos":
    return
  if run.backend.kind == "simulated":
    yield (
        "workload.stop: 'eos' needs real weights, and the simulator computes"
        " no tokens; use 'forced_length'"
    )
  elif run.model.weights == "random" and not run.sampling.stop_ids:
    yield (
        "workload.stop: 'eos' needs real weights (model.weights), and random"
        " ones have no end token; use 'forced_length', or name"
        " sampling.stop_ids"
    )


def _stop_strings(run: Run) -> Iterator[str]:
  for index, text in enumerate(run.sampling.stop):
    if not text:
      yield f"sampling.stop[{index}]: empty, which would end every answer"
  if run.sampling.stop and run.model.weights == "random":
    if run.workload.stop == "eos" and run.backend.kind == "jax":
      yield (
          "sampling.stop: random weights have no tokenizer, so answers have no"
          " text; use sampling.stop_ids"
      )


CHECKS: tuple[Check, ...] = (
    ranges.out_of_range,
    _page_tokens,
    _strategy,
    _router,
    _split,
    _no_pool,
    _slo_limits,
    _workers,
    _roles_of_degrees,
    _roles,
    _adaptive,
    _pieces,
    _payload,
    _lanes,
    _chip_said,
    _whole_pages,
    _end_tokens,
    _stop_strings,
    faultchecks.shares,
    faultchecks.one_by_one,
)
"""In an order in which each may rely on those before it."""
