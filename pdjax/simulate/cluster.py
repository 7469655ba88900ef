"""From a config to a simulated cluster: costs, pages, links, backend.

Imports no jax. Workers on alike chips share one cost model, and with it the
shapes it has priced.
"""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pdjax import memory
from pdjax.buckets import plan
from pdjax.clients import Clients
from pdjax.config import (
    BUILTIN_STRATEGIES,
    NAMED_COSTS,
    WHOLE_PROMPT_TOKENS,
    WHOLE_REQUESTS,
    ConfigError,
    Faults,
    Model,
    Pool,
    Run,
    TransferPlan,
    lanes_of,
    most_seqs,
    place_of,
    pools_of,
)
from pdjax.dtypes import BITS, Dtypes
from pdjax.faults import FaultPlan, plan_of
from pdjax.models.sizes import spec_of
from pdjax.models.spec import ModelSpec
from pdjax.passlimits import pass_limits, too_few_programs
from pdjax.schedule.setup import worker_pools
from pdjax.schedule.staging import Budgets, staging_pages, too_small
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.between import bytes_per_s_between
from pdjax.simulate.chip import Chip, MissingFigure
from pdjax.simulate.chips import chip
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.drawn import ASSUMED, drawn
from pdjax.simulate.fitted import fitted_for
from pdjax.simulate.hostshare import SharedBackend
from pdjax.simulate.links import Link
from pdjax.simulate.padded import PaddedCost
from pdjax.simulate.profiles.calibrated import CalibratedCost
from pdjax.simulate.profiles.cost import ProfiledCost
from pdjax.simulate.profiles.files import profiled
from pdjax.simulate.rates import ps_of
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.shares import lane_costs

Cost = AnalyticalCost | ProfiledCost | PaddedCost


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
  """What is simulated, worker by worker."""

  costs: tuple[Cost, ...]
  pool_pages: tuple[int, ...]
  """Usable pages."""
  staging_pages: Budgets
  links: tuple[Link, ...]
  dispatch_ahead: int
  lane_costs: tuple[tuple[Cost, ...], ...]
  """Of the steps of each lane."""
  draw: int = 0
  """Of the scalars, within their uncertainty; 0: as stated."""
  faults: Faults = Faults()
  verify: bool = False
  """Damaged pages are found."""
  rounded: bool = False
  """Pages travel as int8."""
  host_bytes_per_s: float = 50e9
  """At which pages come back from host memory."""

  @property
  def provenance(self) -> list[dict[str, str | float | int]]:
    """Of each cost model in use, once, with what it has priced so far."""
    return [cost.provenance for cost in dict.fromkeys(self.costs)]

  @property
  def profile(self) -> str:
    """What all prices rest on, in words."""
    told = {_rests_on(made) for made in self.provenance}
    draw = [f"draw {self.draw} of them"] if self.draw else []
    return "; ".join([*sorted(told), *draw])

  @property
  def extrapolated_step_share(self) -> float | None:
    """Of the steps priced so far; None where nothing has a range."""
    profiled = [
        cost.steps
        for cost in dict.fromkeys(self.costs)
        if isinstance(cost, ProfiledCost)
    ]
    total = sum(sum(steps.values()) for steps in profiled)
    beyond = sum(steps["extrapolated"] for steps in profiled)
    return beyond / total if total else None

  @property
  def measured_on(self) -> str | None:
    """Kind of the devices that all prices were measured on, if they were."""
    kinds = {getattr(cost, "device", None) for cost in self.costs}
    known = sorted(filter(None, kinds))
    return " + ".join(known) if len(known) == len(kinds) else None

  def total(self, figure: str) -> float | None:
    """A figure of all chips together; None where one's sheet lacks it."""
    each = [
        (getattr(cost.chip, figure), cost.layout.chips) for cost in self.costs
    ]
    if any(value is None for value, _ in each):
      return None
    return sum(value * chips for value, chips in each)

  def padded(self, run: Run, lengths: Iterable[int]) -> "Cluster":
    """The same with passes padded to what our engine would compile for a run.

    Args:
      lengths: tokens of each request with its answer.

    Raises:
      ConfigError: the steps of the run need more programs than it allows.
    """
    heads = self.costs[0].spec.num_kv_heads
    limits = pass_limits(
        run, heads, lengths, self.pool_pages, self.staging_pages
    )
    if mistake := too_few_programs(run.engine.max_programs, limits):
      raise ConfigError([mistake])
    alike = {
        (cost, limit): PaddedCost(
            _whole(cost), plan(limit, run.engine.max_programs)
        )
        for cost, limit in zip(self.costs, limits, strict=True)
    }
    costs = tuple(alike[pair] for pair in zip(self.costs, limits, strict=True))
    return dataclasses.replace(
        self, costs=costs, lane_costs=tuple((cost,) for cost in costs)
    )

  def backend(
      self,
      clients: Clients,
      output_tokens: Sequence[int],
      plan: FaultPlan | None = None,
  ) -> SimulatedBackend:
    """A fresh backend at time 0; `plan` instead of the config's faults.

    Calibrated workers are on one host, as when they were measured.
    """
    calibrated = [c.fitted for c in self.costs if isinstance(c, CalibratedCost)]
    kind = SimulatedBackend
    if len(calibrated) == len(self.costs):
      kind = functools.partial(SharedBackend, fitted=calibrated)
    return kind(
        clients, output_tokens, self.costs, self.links,
        dispatch_ahead=self.dispatch_ahead, lane_costs=self.lane_costs,
        plan=plan or plan_of(self.faults, len(self.costs)),
        verify=self.verify,
        num_layers=self.costs[0].spec.num_layers,
        host_bytes_per_s=self.host_bytes_per_s,
        sent_token_bytes=[
            cost.spec.kv_int8_bytes_per_token if self.rounded else None
            for cost in self.costs
        ],
    )


def _rests_on(made: Mapping[str, Any]) -> str:
  """Of a cost model's provenance: its kind, and how good it is or whose."""
  kind, said = made["kind"], f"{made.get('accuracy') or made.get('profile')}"
  return said if said.startswith(kind) else f"{kind}: {said}"


def cluster_of(
    run: Run, scalars: Scalars | None = None, *, engines_kv: bool = False
) -> Cluster:
  """The cluster a config describes.

  Args:
    run: the config.
    scalars: instead of the config's assumptions.
    engines_kv: whether `kv_tokens` are what a real engine said that it had; its
      word is taken that they fit.

  Raises:
    ConfigError: unknown model or chip, a figure that no source states, a split
      the model does not allow, a model that does not fit; all together.
  """
  built: dict[Pool, _Built] = {}
  costs: dict[tuple, Cost] = {}
  errors: dict[str, None] = {}
  for pool in dict.fromkeys(worker_pools(run)):
    alike = (pool.chip, pool.layout)
    try:
      built[pool] = _built(
          run, pool, scalars, costs.get(alike), engines_kv
      )
      costs[alike] = built[pool][0]
    except ConfigError as error:
      errors |= dict.fromkeys(error.errors)
  errors = errors or dict.fromkeys(_more_than_all_layers(run))
  if errors:
    raise ConfigError(list(errors))
  workers = [built[pool] for pool in worker_pools(run)]
  plan = run.strategy.transfer or WHOLE_REQUESTS
  priced = tuple(cost for cost, _, _ in workers)
  sent_bytes = [_sent_page_bytes(run, plan, cost) for cost in priced]
  if mistakes := list(too_small(run, sent_bytes)):
    raise ConfigError(mistakes)
  return Cluster(
      costs=priced,
      pool_pages=tuple(pages for _, pages, _ in workers),
      staging_pages=staging_pages(run, sent_bytes),
      links=tuple(link for _, _, link in workers),
      dispatch_ahead=run.engine.dispatch_ahead,
      lane_costs=_lane_costs(run, priced),
      draw=run.backend.draw,
      faults=run.faults,
      verify=plan.verify,
      rounded=plan.payload == "int8",
      host_bytes_per_s=run.cluster.host_bytes_per_s,
  )


_Built = tuple[Cost, int, Link]
_AMPLE = 10**18
"""Of any figure of a chip, while others are asked for."""


def _built(
    run: Run, pool: Pool, scalars: Scalars | None, cost: Cost | None,
    engines_kv: bool,
) -> _Built:
  """Costs, usable pages and link of the pool's workers.

  Raises:
    ConfigError: as `cluster_of`; of figures that the chip lacks, all.
  """
  on, errors = _chip_of(run, pool), []
  while True:
    try:
      made = cost or _cost(run, pool, on, scalars)
      pages = _pool_pages(run, pool, on, made, engines_kv)
      link = _link(run, pool, made)
    except MissingFigure as error:
      assert getattr(on, error.figure) is None, error
      errors += error.errors
      on, cost = dataclasses.replace(on, **{error.figure: _AMPLE}), None
      continue
    except ConfigError as error:
      raise ConfigError(errors + error.errors) from error
    if errors:
      raise ConfigError(errors)
    return made, pages, link


def _sent_page_bytes(run: Run, plan: TransferPlan, cost: Cost) -> int:
  """Of a page on its way, as the backend counts it."""
  tokens = run.cluster.page_tokens
  if plan.payload == "int8":
    return tokens * cost.spec.kv_int8_bytes_per_token
  return cost.transfer_bytes(tokens)


def _more_than_all_layers(run: Run) -> Iterator[str]:
  """A line if pages are to move in groups of more layers than there are."""
  group, spec = run.strategy.transfer, spec_of(run.model)
  layers = group.group_layers if group else None
  if layers and layers > spec.num_layers:
    yield (
        f"strategy.transfer.layers: {layers} is more than the"
        f" {spec.num_layers} layers of {spec.name}"
    )


def _lane_costs(
    run: Run, costs: Sequence[Cost]
) -> tuple[tuple[Cost, ...], ...]:
  """By worker; workers alike share theirs."""
  shares = lanes_of(run.strategy)
  if shares is None:
    return tuple((cost,) for cost in costs)
  alike = dict.fromkeys(costs)
  each = {cost: lane_costs(_whole(cost), shares) for cost in alike}
  return tuple(each[cost] for cost in costs)


def _whole(cost: Cost) -> AnalyticalCost:
  if isinstance(cost, AnalyticalCost):
    return cost
  raise ConfigError(["backend.costs: a profile knows no shares of a chip"])


def dtypes_of(model: Model, on: Chip | None) -> Dtypes:
  """The formats a model is kept and multiplied in on a chip; None: on the
  devices of the engine, which knows one format for all."""
  weight = model.weight_dtype or model.dtype
  quantised = BITS[weight] == 8 and on is not None and on.multiplies(weight)
  implied = weight if quantised else model.dtype
  return Dtypes(
      activation=model.dtype,
      weight=weight,
      product=model.product_dtype or implied,
      kv=model.kv_dtype or model.dtype,
  )


def cost_of(run: Run, pool: Pool) -> Cost:
  """What prices the steps of a pool's workers.

  Raises:
    ConfigError: see `cluster_of`.
  """
  return _cost(run, pool, _chip_of(run, pool), None)


def _chip_of(run: Run, pool: Pool) -> Chip:
  """That the pool is said to run on, which its model can be split over."""
  if pool.chip is None:
    raise ConfigError(["cluster.chip: say which chip to simulate"])
  memory.check_split(spec_of(run.model), pool.layout, _name(pool))
  return chip(pool.chip, run.cluster.chips)


def _cost(
    run: Run, pool: Pool, on: Chip, scalars: Scalars | None
) -> Cost:
  spec = spec_of(run.model)
  calibrated, off = None, ASSUMED
  if run.backend.costs == "fitted" and scalars is None:
    fitted = fitted_for(on)
    scalars, calibrated = fitted.scalars, fitted.accuracy
    off = fitted.tested_p90_error
  scalars = drawn(scalars or Scalars(), run.backend.draw, off)
  if run.strategy.kind == "vllm_v1" and run.engine.dispatch_ahead:
    scalars = dataclasses.replace(scalars, host_overlap=1.0)
  cost = AnalyticalCost(
      spec, on, dtypes=dtypes_of(run.model, on), layout=pool.layout,
      scalars=scalars, calibrated=calibrated,
  )
  if run.backend.costs in NAMED_COSTS:
    return cost.required()
  return profiled(run.backend.costs, cost, run.backend.draw)


def _pool_pages(
    run: Run, pool: Pool, on: Chip, cost: Cost, engines_kv: bool
) -> int:
  """Whole pages of what the config says, or else what the memory leaves.

  Where a calibration's device is not the chip that is named beside it, what is
  said of its memory is taken as it is.
  """
  page_tokens, tokens = run.cluster.page_tokens, pool.kv_tokens
  unknown = isinstance(cost, CalibratedCost) and cost.elsewhere
  if tokens is not None and (engines_kv or unknown):
    return tokens // page_tokens
  room = (
      footprint(run, pool, cost.spec, cost.dtypes),
      on.figure("hbm_bytes"), run.cluster.hbm_utilization, _name(pool),
  )
  if tokens is None:
    return memory.pool_pages(*room)
  pages = tokens // page_tokens
  said = place_of(run, pools_of(run).index(pool), "kv_tokens")
  memory.check_pages(*room, pages=pages, page_tokens=page_tokens, said=said)
  return pages


def footprint(
    run: Run, pool: Pool, spec: ModelSpec, dtypes: Dtypes
) -> memory.Footprint:
  """What a worker of the pool keeps on its fullest chip."""
  strategy = run.strategy
  max_num_seqs = pool.max_num_seqs or most_seqs(strategy)
  prompt_tokens = (
      pool.chunk_size
      or strategy.max_num_batched_tokens
      or WHOLE_PROMPT_TOKENS
  )
  return memory.footprint(
      spec,
      dtypes=dtypes,
      layout=pool.layout,
      page_tokens=run.cluster.page_tokens,
      step_tokens=max(prompt_tokens, max_num_seqs),
      max_num_seqs=max_num_seqs,
  )


def _link(run: Run, pool: Pool, cost: Cost) -> Link:
  """The configured link, or else what joins the chips of the workers.

  Calibrated workers are joined as they were when they were measured.
  """
  link, workers = run.cluster.link, worker_pools(run)
  bandwidth = link.bandwidth_bytes_per_s
  if bandwidth is None and isinstance(cost, CalibratedCost) and cost.link:
    return cost.link
  if bandwidth is None:
    every = sum(other.layout.chips for other in workers)
    alike = len({other.chip for other in workers}) == 1
    try:
      bandwidth = bytes_per_s_between(
          cost.chip, pool.layout.chips, every, alike, cost.scalars
      )
    except MissingFigure as error:
      if not _moves_pages(run):
        bandwidth = _UNUSED
      elif isinstance(cost, CalibratedCost):
        raise ConfigError([_NO_HAND_OFF]) from error
      else:
        raise MissingFigure(error.figure, (
            f"{error.errors[0]}, or say cluster.link.bandwidth_bytes_per_s"
        )) from error
  return Link(round(bandwidth), ps_of(link.latency_s))


_NO_HAND_OFF = (
    "cluster.link.bandwidth_bytes_per_s: say it: pages are to move, and the"
    " calibration saw no hand-off"
)
_UNUSED = 1
"""Bandwidth of a link that nothing crosses."""


def _moves_pages(run: Run) -> bool:
  workers = worker_pools(run)
  builtin = run.strategy.kind in BUILTIN_STRATEGIES
  roles = {pool.role for pool in workers}
  return len(workers) > 1 and not (builtin and roles == {"C"})


def _name(pool: Pool) -> str:
  return f"cluster: pool {pool.role} ({pool.layout})"
