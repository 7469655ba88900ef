"""The sizes that a config's engine compiles its passes for."""

from collections.abc import Sequence

from pdjax import buckets
from pdjax.config import Run
from pdjax.engine import capacity
from pdjax.models.sizes import spec_of
from pdjax.simulate.fittedcost import Padding
from pdjax.workload.build import build


def paddings_of(run: Run) -> list[Padding]:
  """Of each worker; those of other roles have other programs."""
  limits = capacity.limits_of(run, spec_of(run.model), build(run.workload))
  plans = [buckets.plan(each, run.engine.max_programs) for each in limits]
  return [Padding(plan.B, plan.U) for plan in plans]


def finest(paddings: Sequence[Padding]) -> Padding:
  """Of all workers together: most sizes of each."""
  return Padding(
      max((each.sequences for each in paddings), key=len),
      max((each.prompt_tokens for each in paddings), key=len),
  )
