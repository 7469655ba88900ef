"""From a config to a simulated cluster: costs, pages, links, backend.

Imports no jax. Workers on alike chips share one cost model, and with it the
shapes it has priced.
"""

import dataclasses
from collections.abc import Sequence

from pdjax import memory
from pdjax.config import ConfigError, Pool, Run, pages_for
from pdjax.models.presets import preset
from pdjax.request import Request
from pdjax.schedule.setup import worker_pools
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.chips import chip
from pdjax.simulate.costs import PS_PER_S, AnalyticalCost
from pdjax.simulate.links import Link
from pdjax.simulate.scalars import Scalars


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
  """What is simulated, worker by worker."""

  costs: tuple[AnalyticalCost, ...]
  pool_pages: tuple[int, ...]
  """Usable pages."""
  links: tuple[Link, ...]
  dispatch_ahead: int

  @property
  def provenance(self) -> list[dict[str, str | float | int]]:
    """Of each cost model in use, once."""
    return [cost.provenance for cost in dict.fromkeys(self.costs)]

  def backend(
      self, requests: Sequence[Request], output_tokens: Sequence[int]
  ) -> SimulatedBackend:
    """A fresh backend at time 0."""
    return SimulatedBackend(
        requests, output_tokens, self.costs, self.links,
        dispatch_ahead=self.dispatch_ahead,
    )


def cluster_of(run: Run, scalars: Scalars | None = None) -> Cluster:
  """The cluster a config describes.

  Raises:
    ConfigError: unknown model or chip, a figure that no source states, a split
      the model does not allow, a model that does not fit; all together.
  """
  built: dict[Pool, tuple[AnalyticalCost, int, Link]] = {}
  costs: dict[tuple, AnalyticalCost] = {}
  errors: dict[str, None] = {}
  for pool in dict.fromkeys(worker_pools(run)):
    chips = (pool.chip, pool.tp, pool.pp)
    try:
      cost = costs[chips] = costs.get(chips) or _cost(run, pool, scalars)
      built[pool] = (cost, _pool_pages(run, pool, cost), _link(run, cost))
    except ConfigError as error:
      errors |= dict.fromkeys(error.errors)
  if errors:
    raise ConfigError(list(errors))
  workers = [built[pool] for pool in worker_pools(run)]
  return Cluster(
      costs=tuple(cost for cost, _, _ in workers),
      pool_pages=tuple(pages for _, pages, _ in workers),
      links=tuple(link for _, _, link in workers),
      dispatch_ahead=run.engine.dispatch_ahead,
  )


def _cost(run: Run, pool: Pool, scalars: Scalars | None) -> AnalyticalCost:
  spec = preset(run.model.preset)
  if pool.chip is None:
    raise ConfigError(["cluster.chip: say which chip to simulate"])
  memory.check_split(spec, pool.tp, pool.pp, _name(pool))
  return AnalyticalCost(
      spec, chip(pool.chip), dtype=run.model.dtype, tp=pool.tp, pp=pool.pp,
      scalars=scalars,
  )


def _pool_pages(run: Run, pool: Pool, cost: AnalyticalCost) -> int:
  """What the config says, or else what the memory leaves."""
  page_tokens = run.cluster.page_tokens
  if pool.kv_tokens is not None:
    return pages_for(pool.kv_tokens, page_tokens)
  max_num_seqs = pool.max_num_seqs or run.strategy.max_num_seqs
  prompt_tokens = (
      pool.chunk_size or run.strategy.max_num_batched_tokens or 8192
  )
  need = memory.footprint(
      cost.spec,
      dtype_bytes=memory.DTYPE_BYTES[run.model.dtype],
      tp=pool.tp,
      pp=pool.pp,
      page_tokens=page_tokens,
      step_tokens=max(prompt_tokens, max_num_seqs),
      max_num_seqs=max_num_seqs,
  )
  return memory.pool_pages(
      need, cost.chip.figure("hbm_bytes"), run.cluster.hbm_utilization,
      _name(pool),
  )


def _link(run: Run, cost: AnalyticalCost) -> Link:
  """The configured link, or else the interconnects of a worker's chips."""
  link = run.cluster.link
  bandwidth = link.bandwidth_bytes_per_s
  if bandwidth is None:
    bandwidth = cost.chip.peer_bytes_per_s * cost.tp * cost.pp
  return Link(round(bandwidth), round(link.latency_s * PS_PER_S))


def _name(pool: Pool) -> str:
  return f"cluster: pool {pool.role} (tp {pool.tp}, pp {pool.pp})"
