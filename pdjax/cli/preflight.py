"""Everything that can be known to fail, asked before anything is written.

The config's own contradictions are found by `pdjax.checks`; the checks here ask
the world outside: names of models and chips, a user's policy, trace files,
weights, devices, and whether the requests fit model and pools.
"""

import hashlib
from collections.abc import Iterable, Iterator

from pdjax import checks, config, inputfile, memory
from pdjax.checks import Check, of_each_pool, refusals
from pdjax.cli import measurable, requests
from pdjax.cli.plant import fitted_to
from pdjax.cli.requests import built, workload_of
from pdjax.config import ConfigError, Pool, Run
from pdjax.engine import capacity
from pdjax.layout import Layout
from pdjax.metrics import slo
from pdjax.models import checkpoint, spec_json
from pdjax.models.sizes import spec_of
from pdjax.policyfile import factory_of
from pdjax.simulate import chips
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.stepcosts import policy_for, step_costs_of
from pdjax.sweep import jsonfile
from pdjax.unknown import look, told


def inputs_of(run: Run) -> tuple[str, ...]:
  """Content hashes of the files that a run reads."""
  hashes = []
  trace = workload_of(run.workload).conditions.get("source_sha256")
  if trace:
    hashes.append(f"trace {trace}")
  if run.model.weights not in config.NAMED_WEIGHTS:
    hashes.append(_weights_hash(run))
  if run.backend.costs not in config.NAMED_COSTS:
    costs = inputfile.path_of(run.backend.costs)
    hashes.append(f"costs {inputfile.sha256_of(costs)}")
  if run.strategy.step_costs is not None:
    told_costs = inputfile.path_of(run.strategy.step_costs)
    hashes.append(f"step costs {inputfile.sha256_of(told_costs)}")
  return tuple(hashes)


def _weights_hash(run: Run) -> str:
  """Of the weights, or of their sizes alone where no more is read."""
  if run.backend.kind == "simulated":
    sizes = jsonfile.canonical(spec_json.plain(spec_of(run.model)))
    return f"sizes {hashlib.sha256(sizes.encode()).hexdigest()}"
  path = checkpoint.path_of(run.model)
  assert path is not None
  return f"weights {checkpoint.identity(path)['sha256']}"


# Names. -----------------------------------------------------------------------


def _preset(run: Run) -> Iterable[str]:
  return refusals(lambda: spec_of(run.model))


def _own_chips(run: Run) -> Iterator[str]:
  for name, figures in run.cluster.chips.items():
    yield from told(lambda one, of=name: chips.problems({of: one}), figures)


def _chip(run: Run) -> Iterable[str]:
  return _no_chip(run, run.cluster.chip)


def _chips_of_pools(run: Run) -> Iterator[str]:
  for index, pool in enumerate(run.cluster.pools or ()):
    for line in told(lambda pool: _no_chip(run, pool.chip), pool):
      yield f"cluster.pools[{index}].chip:{line.partition(':')[2]}"


def _no_chip(run: Run, name: str | None) -> list[str]:
  if name is None or name in run.cluster.chips:
    return []
  return refusals(lambda: chips.chip(name, run.cluster.chips))


def _slo_names(run: Run) -> Iterator[str]:
  yield from told(slo.preset_problems, run.slo.preset)
  for name in ("terms", "slowdowns"):
    for index, term in enumerate(getattr(run.slo, name)):
      path = f"slo.{name}[{index}]"
      yield from told(lambda term, at=path: slo.term_problems(at, term), term)


def _unloaded(run: Run) -> Iterator[str]:
  yield from slo.unloaded_problems(run.slo)


NAMES: tuple[Check, ...] = (
    _preset,
    _own_chips,
    _chip,
    _chips_of_pools,
    _slo_names,
    _unloaded,
)
"""Of models, chips and metrics."""


# The strategy. ----------------------------------------------------------------


def _policy_module(run: Run) -> Iterable[str]:
  kind = run.strategy.kind
  return refusals(lambda: factory_of(kind)) if ":" in kind else ()


def _policy(run: Run) -> Iterable[str]:
  if ":" not in run.strategy.kind:
    return ()
  look(*run.strategy.options.values())  # before they are given to a factory
  return refusals(lambda: policy_for(run))


# Model and workers. -----------------------------------------------------------


def _simulated(ask: Check) -> Check:
  """A check of simulated runs only."""
  return lambda run: ask(run) if run.backend.kind == "simulated" else ()


def _laid_out(name: str, *given: str) -> Check:
  """A degree of parallelism that the model does not allow, `given` others."""

  def check(run: Run) -> Iterator[str]:
    spec = spec_of(run.model)

    def fits(pool: Pool, place: str) -> list[str]:
      degrees = {one: getattr(pool, one) for one in (name, *given)}
      layout = Layout(**degrees)
      return refusals(lambda: memory.check_split(spec, layout, place))

    yield from of_each_pool(run, name, fits)

  return _simulated(check)


def _step_costs(run: Run) -> Iterable[str]:
  if run.strategy.step_costs is None:
    return ()
  return refusals(lambda: step_costs_of(run))


def _positions(run: Run) -> Iterator[str]:
  spec = spec_of(run.model)
  if workload := built(run):
    yield from capacity.beyond_positions(spec, workload)


def _cluster(run: Run) -> Iterator[str]:
  """Chips without a needed figure, models that do not fit, no room at all."""
  try:
    cluster = cluster_of(run)
  except ConfigError as error:
    yield from error.errors
    return
  if workload := built(run):
    unfit = list(capacity.none_fits(run, workload, cluster.pool_pages))
    yield from unfit or refusals(lambda: fitted_to(cluster, run, workload))


CHECKS: tuple[Check, ...] = (
    *checks.CHECKS,
    *NAMES,
    _policy_module,
    _policy,
    _laid_out("tp"),
    _laid_out("pp"),
    _laid_out("ep", "tp", "dp"),
    _step_costs,
    *requests.CHECKS,
    _positions,
    _simulated(_cluster),
    *measurable.CHECKS,
)
"""All there are, in an order in which each may rely on those before it."""
