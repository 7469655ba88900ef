"""A run's workers, pool by pool, with everything said about each."""

import dataclasses
from typing import Any

from pdjax.config.cluster import parse_split
from pdjax.config.pool import DEGREES, Pool
from pdjax.config.run import Run
from pdjax.config.strategy import most_seqs


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
