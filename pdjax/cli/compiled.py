"""The sizes that a config's engine compiles its passes for."""

from pdjax.config import Run
from pdjax.engine import buckets, capacity
from pdjax.models.sizes import spec_of
from pdjax.simulate.fittedcost import Padding
from pdjax.workload.build import build


def padding_of(run: Run) -> Padding:
  """Of the worker with the most sizes that decodes, and that prefills."""
  limits = capacity.limits_of(run, spec_of(run.model), build(run.workload))
  plans = [buckets.plan(each, run.engine.max_programs) for each in limits]
  decoding = max(plans, key=lambda b: ("decode" in b.kinds, len(b.B)))
  prompts = max(plans, key=lambda b: ("prefill" in b.kinds, b.U))
  return Padding(decoding.B, prompts.U)
