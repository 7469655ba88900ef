"""Chunks as large as the time between two tokens allows."""

from collections.abc import Generator, Iterator, Sequence

from pdjax.events import Command
from pdjax.schedule.batching import (
  admit,
  candidates,
  largest,
  make_room,
  one_pass,
)
from pdjax.schedule.cost import StepCost, StepShape
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World


class AdaptiveChunk:
  """Every decode, then as many prompt tokens as a step's time limit allows.

  Sarathi-Serve (OSDI'24) fixes the budget once, so that a step keeps the limit
  between tokens; here it is found anew for each step, as in Niyama (2025): it
  shrinks as contexts and prefixes grow, and is `chunk_size` where nothing
  decodes. One page of a prompt is computed in any case, so that none starves.

  Args:
    costs: what steps are expected to take, by worker.
    limit_ps: of a step with decodes.
  """

  def __init__(self, costs: Sequence[StepCost], limit_ps: int):
    self._costs, self._limit_ps = costs, limit_ps

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    decodes = yield from make_room(worker)
    chunks = yield from self._chunks(worker, world, decodes)
    yield from one_pass(worker, chunks, decodes)

  def _chunks(
      self, worker: Worker, world: World, decodes: tuple[int, ...]
  ) -> Generator[Command, None, tuple[tuple[int, int], ...]]:
    assert worker.spec.chunk_size is not None
    budget_tokens = worker.spec.chunk_size - len(decodes)
    contexts = tuple(worker.decoding[d].computed_tokens + 1 for d in decodes)
    chunks: list[tuple[int, int]] = []
    shapes: list[tuple[int, int]] = []
    for progress in candidates(worker, world):
      left = worker.tokens_to_compute(progress)
      cached = progress.target_tokens - left
      most = min(left, budget_tokens)
      tokens = self._within(worker, contexts, tuple(shapes), cached, most)
      if not chunks:
        tokens = max(tokens, min(most, worker.spec.page_tokens))
      if tokens <= 0:
        break
      yield from admit(progress, worker)
      chunks.append((progress.id, tokens))
      shapes.append((tokens, cached))
      budget_tokens -= tokens
      if tokens < left:
        break
    return tuple(chunks)

  def _within(
      self,
      worker: Worker,
      contexts: tuple[int, ...],
      chunks: tuple[tuple[int, int], ...],
      cached: int,
      most: int,
  ) -> int:
    """Tokens, up to `most`, of one chunk more that keep the limit."""
    cost, context_tokens = self._costs[worker.id], sum(contexts)

    def keeps(tokens: int) -> bool:
      shape = StepShape(
          (*chunks, (tokens, cached)), len(contexts), context_tokens, 1,
          contexts,
      )
      return cost.step(shape)[0].first_ps <= self._limit_ps

    if not contexts or most <= 0:
      return most
    return largest(most, keeps)
