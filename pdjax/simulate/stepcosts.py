"""What a scheduler is told about the price of steps.

In a simulation that is, unless the config says otherwise, the very cost model
that it runs on, as a model of its own; on real devices it is a calibration.
"""

from collections.abc import Sequence

from pdjax.config import ConfigError, Run
from pdjax.models.sizes import spec_of
from pdjax.schedule.cost import StepCost
from pdjax.schedule.loop import Policy
from pdjax.schedule.setup import policy_of, worker_pools
from pdjax.simulate.cluster import cluster_of, dtypes_of
from pdjax.simulate.profiles.files import calibration

_FIELD = "strategy.step_costs"


def policy_for(run: Run) -> Policy:
  """The strategy's policy, fresh, with the step costs it asks for.

  Raises:
    ConfigError: there are none for this run, or its own module is at fault.
  """
  return policy_of(run, step_costs_of(run))


def step_costs_of(run: Run) -> Sequence[StepCost]:
  """By worker; empty where the strategy asks for none.

  Raises:
    ConfigError: no calibration, or it is of another model or layout.
  """
  if run.strategy.kind != "adaptive_chunk":
    return ()
  if run.strategy.step_costs is not None:
    return _calibrated(run, run.strategy.step_costs)
  if run.backend.kind == "jax":
    raise ConfigError([f"{_FIELD}: needed on real devices"])
  return cluster_of(run).costs


def _calibrated(run: Run, path: str) -> Sequence[StepCost]:
  found, model = calibration(path, _FIELD), spec_of(run.model).name
  for pool in worker_pools(run):
    dtypes = dtypes_of(run.model, None)
    if reason := found.mismatch(model, pool.layout, dtypes):
      raise ConfigError([f"{_FIELD}: {path}: {reason}"])
  return [found.cost for _ in worker_pools(run)]
