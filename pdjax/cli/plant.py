"""What does the work of a run: a backend with its pages, chips and facts.

The one place where the two backends meet. Each is imported only when it is
asked for, so a simulated run loads no JAX.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pdjax.config import Run
from pdjax.metrics.flags import Facts
from pdjax.schedule.loop import Backend
from pdjax.schedule.setup import worker_pools
from pdjax.schedule.staging import Budgets
from pdjax.workload.workload import Workload

if TYPE_CHECKING:
  from pdjax.simulate.cluster import Cluster

Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plant:
  """A backend ready to serve, and what it can say about itself."""

  backend: Backend
  pool_pages: Sequence[int]
  """Usable pages of each worker."""
  staging_pages: Budgets
  conditions: dict[str, Any]
  """Arguments of `metrics.conditions.conditions`."""
  devices: Sequence[str] = ()
  costs: Callable[[], Sequence[dict]] = list
  """After serving: where simulated costs came from."""
  examine: Callable[[], tuple[Facts, dict[str, Any]]] = lambda: (Facts(), {})
  """After serving: what only the backend knows, and more of the summary."""
  write: Callable[[Path], None] = lambda folder: None
  """After serving: files of the backend's own."""
  profile: Callable[[Path, int], None] = lambda folder, step_runs: None
  """At last: a trace of a few steps of another run, of so many runs of steps.
  On real devices alone."""
  close: Callable[[], None] = lambda: None


def plant_of(run: Run, workload: Workload, progress: Say) -> Plant:
  """Builds the backend a config names.

  Raises:
    ConfigError: the model, chips or devices do not go together.
  """
  if run.backend.kind == "jax":
    from pdjax.cli.measured import measured

    return measured(run, workload, progress)
  return _simulated(run, workload)


def _simulated(run: Run, workload: Workload) -> Plant:
  from pdjax.simulate.cluster import cluster_of
  from pdjax.simulate.rates import PS_PER_S

  cluster = fitted_to(cluster_of(run), run, workload)
  return Plant(
      backend=cluster.backend(workload.clients(), workload.output_tokens),
      pool_pages=cluster.pool_pages,
      staging_pages=cluster.staging_pages,
      conditions={
          "chip": cluster.measured_on,
          "notes": [*_of_a_chip(cluster, run)],
          "cost_profile": cluster.profile,
          "workers": [
              {
                  **held(pages, run.cluster.page_tokens, staged),
                  "link_bytes_per_s": link.bandwidth_bytes_per_s,
                  "link_latency_s": link.latency_ps / PS_PER_S,
              }
              for pages, staged, link in zip(
                  cluster.pool_pages, cluster.staging_pages, cluster.links,
                  strict=True,
              )
          ],
      },
      costs=lambda: cluster.provenance,
      examine=lambda: (
          Facts(
              extrapolated_step_share=cluster.extrapolated_step_share,
              tdp_w=cluster.total("tdp_w"),
              usd_per_hour=cluster.total("price_usd_per_hour"),
          ),
          {},
      ),
  )


def _of_a_chip(cluster: "Cluster", run: Run) -> Iterator[str]:
  """What is not the device's that prices were measured on."""
  named = {pool.chip for pool in worker_pools(run) if pool.chip}
  others = named - {cost.chip.name for cost in cluster.costs}
  if cluster.measured_on and others:
    yield f"memory is that of {' + '.join(sorted(others))}"


def fitted_to(cluster: "Cluster", run: Run, workload: Workload) -> "Cluster":
  """A simulated cluster, its passes padded if the run asks for that.

  Raises:
    ConfigError: the engine that it stands for may not compile so few programs.
  """
  if run.backend.padding == "none":
    return cluster
  return cluster.padded(run, workload.total_tokens)


def held(
    pool_pages: int, page_tokens: int, staging_pages: int | None
) -> dict[str, int | None]:
  """How a worker's cache is stated in conditions."""
  return {
      "pool_pages": pool_pages,
      "kv_tokens": pool_pages * page_tokens,
      "staging_pages": staging_pages,
  }


def sizes_of(run: Run) -> tuple[Sequence[int], Budgets]:
  """Usable pages of each worker and those it may have on their way, without
  building a backend: what `world_of` needs.

  Raises:
    ConfigError: the model does not fit its chips.
  """
  if run.backend.kind == "jax":
    from pdjax.engine import capacity

    return capacity.pool_pages_of(run), capacity.staging_pages_of(run)
  from pdjax.simulate.cluster import cluster_of

  cluster = cluster_of(run)
  return cluster.pool_pages, cluster.staging_pages
