"""pdjax's engine as a contender: scheduler, worker thread and all.

A batch of requests arrives at once; continuous batching takes the prompts in
and then decodes. Times are those of the run's log: a prefill's from the
arrival to the event that tells of its token, a decode step's from one set of
tokens on the host to the next.
"""

import itertools
import os
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from benchmarks import traces
from benchmarks.peers import talk
from pdjax import buckets, config, events
from pdjax.buckets import Shape, rung
from pdjax.engine import capacity
from pdjax.engine.backend import EngineBackend
from pdjax.models.sizes import spec_of
from pdjax.request import Request
from pdjax.schedule.loop import Policy, serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import elapsed_ps
from pdjax.workload.workload import Workload

_PAGE_TOKENS = 16

SCOPES = (
    "qkv", "rope", "attention", "o", "gate_up", "down", "head", "sampling"
)
"""Names that the model gives to parts of a pass."""


class OwnEngine:
  """One engine for every case; nothing compiles after it is made."""

  def __init__(self, asked: dict[str, Any]):
    seqs, longest = asked["seqs"], asked["longest"]
    pages = seqs * (config.pages_for(longest, _PAGE_TOKENS) + 1)
    self.run = config.Run(
        backend=config.Backend(kind="jax"),
        model=config.Model(
            preset="from_weights", weights=asked["folder"], dtype="float32"
        ),
        cluster=config.Cluster(
            page_tokens=_PAGE_TOKENS, kv_tokens=pages * _PAGE_TOKENS
        ),
        strategy=config.Strategy(kind="continuous", max_num_seqs=seqs),
        engine=config.Engine(dispatch_ahead=asked.get("ahead", 1)),
    )
    # No smaller prompts come; their programs would only be compiled.
    buckets.LOW = buckets.LOW | {"U": longest // 4}
    self._vocab = spec_of(self.run.model).vocab_size
    largest = [longest // 2] * (seqs - 1) + [longest - 1]
    self.backend = EngineBackend(
        self.run, _workload(largest, 1), self._prompts(largest)
    )

  def about(self) -> dict[str, Any]:
    programs = sum(self.backend.num_programs)
    return {
        "version": f"this checkout, jax {jax.__version__}",
        "settings": (
            f"float32 at precision highest, continuous batching, pages of"
            f" {_PAGE_TOKENS} tokens, dispatch_ahead"
            f" {self.run.engine.dispatch_ahead}, {programs} programs,"
            f" {len(os.sched_getaffinity(0))} threads"
        ),
    }

  def prefill(self, tokens: int) -> dict[str, Any]:
    ended = self.serve([tokens], 1).of(events.StepEnded)
    return {"seconds": ended[-1].at_ps / 1e12}

  def decode(self, batch: int, context: int, steps: int) -> dict[str, Any]:
    log = self.serve([context] * batch, steps + 2)
    ends_s = step_ends_s(log, batch)
    both = itertools.pairwise(ends_s)
    return {"seconds": [after - before for before, after in both][-steps:]}

  def offline(self, requests: int, prompt: int, output: int) -> dict[str, Any]:
    log = self.serve([prompt] * requests, output)
    tokens = self.backend.tokens
    return {
        "seconds": log.end_ps / 1e12,
        "tokens": [tokens[request] for request in range(requests)],
    }

  def operators(self, batch: int, prompt: int) -> dict[str, Any]:
    """Milliseconds of each group of operations in a pass, while traced.

    Of decodes of `batch` sequences with contexts from `prompt` tokens on, or
    if `batch` is 0, of the prefill of a prompt.
    """
    with traces.traced() as found:
      self.serve([prompt] * max(1, batch), 8 if batch else 1)
    sizes = self.backend.replicas[0].buckets
    if batch:
      shape = Shape("decode", sizes.M, rung(sizes.B, batch))
    else:
      shape = Shape("prefill", sizes.M, U=rung(sizes.U, prompt))
    module = "jit_decode" if batch else "jit_mixed"
    program = self.backend.replicas[0].text_of(shape)
    loops, scope = traces.loops(program), traces.scope_of(program, SCOPES)
    own = [done for done in found if done.module == module]
    passes = traces.executions(own, module)
    parts = traces.shared_out(
        (done for done in own if done.name not in loops), scope
    )
    ms = {name: ns / len(passes) / 1e6 for name, ns in parts.items()}
    whole_ms = sum(end - begin for begin, end in passes) / len(passes) / 1e6
    rest_ms = ms.pop("", 0.0)
    idle_ms = whole_ms - sum(ms.values()) - rest_ms
    return {"ms": ms | {"rest": rest_ms, "between": idle_ms}}

  def serve(
      self,
      lengths: list[int],
      output: int,
      policy: Callable[[Policy], Policy] = lambda policy: policy,
  ) -> events.Log:
    """Requests with prompts of these lengths, all at once."""
    load = _workload(lengths, output)
    self.backend.reset(load, self._prompts(lengths))
    pages = capacity.pool_pages_of(self.run)
    return serve(
        policy(policy_of(self.run)), self.backend, world_of(self.run, pages)
    )

  def _prompts(self, lengths: list[int]) -> list[np.ndarray]:
    return [
        np.array(talk.prompt_of(request, tokens, self._vocab), np.int32)
        for request, tokens in enumerate(lengths)
    ]


def step_ends_s(log: events.Log, batch: int) -> list[float]:
  """When the tokens of each step with that many decodes were on the host."""
  steps = {step.run: step for step in log.of(events.Step)}
  ends_s = []
  for ended in log.of(events.StepEnded):
    step = steps[ended.run]
    if len(step.decode) == batch and not step.prefill:
      ends_s += [
          (ended.started_ps + elapsed_ps(ended.segments, number + 1)) / 1e12
          for number in range(ended.steps)
      ]
  return ends_s


def _workload(lengths: list[int], output: int) -> Workload:
  requests = tuple(
      Request(id=id, arrival_ps=0, prompt_tokens=tokens, max_tokens=output)
      for id, tokens in enumerate(lengths)
  )
  return Workload(requests, (output,) * len(lengths), {})


if __name__ == "__main__":
  talk.answer(OwnEngine)
