"""Small simulated runs for the tests of this folder."""

import dataclasses

from pdjax import config
from pdjax.events import Step, StepEnded
from pdjax.request import Request
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import elapsed_ps
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.clients import Open


def make_run(kind="continuous", split="1C", model="llama-3-8b", **more):
  """A run of Llama-3-8B on A100; `more` goes to the config's classes."""
  cluster = more.pop("cluster", {})
  strategy = more.pop("strategy", {})
  return config.Run(
      model=config.Model(preset=model),
      cluster=config.Cluster(**{
          "split": split, "chip": "a100-80gb-sxm", **cluster
      }),
      strategy=config.Strategy(kind=kind, **strategy),
      **more,
  )


def request(id, prompt_tokens, max_tokens, arrival_ps=0):
  return Request(
      id=id, arrival_ps=arrival_ps, prompt_tokens=prompt_tokens,
      max_tokens=max_tokens,
  )


def simulate(run, requests, output_tokens=None, wrap=lambda policy: policy):
  """Returns (log, cluster, world)."""
  cluster = cluster_of(run)
  world = world_of(run, cluster.pool_pages)
  truth = output_tokens or [r.max_tokens for r in requests]
  backend = cluster.backend(Open(requests), truth)
  log = serve(wrap(policy_of(run)), backend, world)
  return log, cluster, world


def token_times(log):
  """When each request's tokens and chunks were ready, by request."""
  steps = {step.run: step for step in log.of(Step)}
  times = {}
  for event in log.of(StepEnded):
    step = steps[event.run]
    for count in range(1, event.steps + 1):
      at_ps = event.started_ps + elapsed_ps(event.segments, count)
      for member in (*(r for r, _ in step.prefill), *step.decode):
        times.setdefault(member, []).append(at_ps)
  return times


class OneByOne:
  """A policy that asks for single steps."""

  def __init__(self, policy):
    self._policy = policy

  def decide(self, event, world):
    for command in self._policy.decide(event, world):
      if isinstance(command, Step):
        command = dataclasses.replace(command, repeats=1)
      yield command
