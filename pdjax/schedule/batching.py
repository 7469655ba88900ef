"""Batching rules: what a free worker computes next.

A rule is one method. It may admit (`Reserve`), make room (`Preempt`), and
yields at most one `Step`. It is asked whenever a worker is free and something
about it has changed, and while a decode run could be joined by someone.
"""

import bisect
from collections.abc import Callable, Generator, Iterator
from typing import Protocol

from pdjax.events import UNTIL_INTERRUPTED, Command, Preempt, Reserve, Step
from pdjax.request import Progress
from pdjax.schedule.decisions import PolicyFault
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World


class Batching(Protocol):
  """One rule for one free worker."""

  def batch(self, worker: Worker, world: World) -> Iterator[Command]: ...


class Continuous:
  """Iteration-level batching of whole prompts.

  Whenever a prompt can be admitted, a step takes whole prompts, up to
  `max_num_batched_tokens` tokens (one longer prompt as the only one). With
  prefill first the decodes wait meanwhile, as in vLLM's first scheduler
  (SOSP'23): the interference baseline. With decode first they share the step,
  as in Orca (OSDI'22), and count towards the tokens.
  """

  def __init__(self, *, decode_first: bool = False):
    self._decode_first = decode_first

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    decodes = yield from make_room(worker)
    beside = decodes if self._decode_first else ()
    prompts = ()
    if worker.has_prompts:
      prompts = yield from whole_prompts(worker, world, len(beside))
    yield from one_pass(worker, prompts, beside if prompts else decodes)


class Static:
  """Request-level batching: a batch runs until all of its members have ended.

  What serving systems did before Orca (OSDI'22, section 3; FasterTransformer):
  an empty worker takes from its queue what fits, each request with the pages of
  the longest answer it declares, so that none is ever preempted. The whole
  batch is prefilled, then decoded; whoever arrives waits for its last member.
  """

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    if not worker.num_seqs:
      yield from self._form(worker, world)
    if worker.prefilling:
      yield Step(worker.id, prefill=self._prompts(worker))
    elif worker.decoding:
      members = tuple(worker.decoding)
      yield Step(worker.id, decode=members, repeats=UNTIL_INTERRUPTED)

  def _form(self, worker: Worker, world: World) -> Iterator[Command]:
    while worker.waiting:
      head = worker.waiting[0]
      pages = worker.most_pages(head.request)
      if not world.admits(worker, head, pages):
        break
      yield Reserve(head.id, worker.id, pages)

  def _prompts(self, worker: Worker) -> tuple[tuple[int, int], ...]:
    """Whole prompts for a step; a longer one goes alone."""
    budget_tokens = worker.spec.max_num_batched_tokens
    prompts: list[tuple[int, int]] = []
    for progress in worker.prefilling.values():
      tokens = progress.remaining_prefill_tokens
      if prompts and tokens > budget_tokens:
        break
      prompts.append((progress.id, tokens))
      budget_tokens -= tokens
    return tuple(prompts)


class Chunked:
  """Stall-free batching: every decode, then prompt chunks up to a budget.

  Sarathi-Serve (OSDI'24). The budget `chunk_size` counts decodes and prompt
  tokens; several prompts may be partly computed.
  """

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    decodes = yield from make_room(worker)
    assert worker.spec.chunk_size is not None
    budget_tokens = worker.spec.chunk_size - len(decodes)
    chunks = ()
    if worker.has_prompts:
      offered = candidates(worker, world)
      chunks = yield from chunks_within(budget_tokens, offered, worker)
    yield from one_pass(worker, chunks, decodes)


class ByWorker:
  """Chunked where a worker has a chunk size, continuous elsewhere."""

  def __init__(self):
    self._chunked, self._continuous = Chunked(), Continuous()

  def batch(self, worker: Worker, world: World) -> Iterator[Command]:
    rule = self._chunked if worker.spec.chunk_size else self._continuous
    return rule.batch(worker, world)


def candidates(worker: Worker, world: World) -> Iterator[Progress]:
  """Prompts to work on: the admitted ones, then heads of the queue.

  A head is offered only while it may be admitted; the taker admits it before
  asking for the next.

  Raises:
    PolicyFault: it did not; the same head would be offered for ever.
  """
  yield from list(worker.prefilling.values())
  offered = None
  while head := world.next_admissible(worker):
    if head is offered:
      raise PolicyFault(
          f"request {head.id} was offered by candidates() and not admitted:"
          " `yield from admit(progress, worker)` first, or break"
      )
    yield (offered := head)


def admit(progress: Progress, worker: Worker) -> tuple[Command, ...]:
  """Reserves the pages of a prompt that holds none here yet."""
  if progress.id in worker.prefilling:
    return ()
  return (Reserve(progress.id, worker.id, worker.need_pages(progress)),)


def whole_prompts(
    worker: Worker, world: World, taken_tokens: int = 0
) -> Generator[Command, None, tuple[tuple[int, int], ...]]:
  """Admits prompts up to `max_num_batched_tokens`, one longer one alone.

  `taken_tokens` of the limit are others'.
  """
  budget_tokens = worker.spec.max_num_batched_tokens - taken_tokens
  prompts: list[tuple[int, int]] = []
  for progress in candidates(worker, world):
    tokens = worker.tokens_to_compute(progress)
    if prompts and tokens > budget_tokens:
      break
    yield from admit(progress, worker)
    prompts.append((progress.id, tokens))
    budget_tokens -= tokens
  return tuple(prompts)


def chunks_within(
    budget_tokens: int, offered: Iterator[Progress], worker: Worker
) -> Generator[Command, None, tuple[tuple[int, int], ...]]:
  """Admits and cuts the prompts on offer until the budget is used up."""
  chunks: list[tuple[int, int]] = []
  for progress in offered:
    if budget_tokens <= 0:
      break
    yield from admit(progress, worker)
    tokens = min(progress.remaining_prefill_tokens, budget_tokens)
    chunks.append((progress.id, tokens))
    budget_tokens -= tokens
  return tuple(chunks)


def one_pass(
    worker: Worker,
    chunks: tuple[tuple[int, int], ...],
    decodes: tuple[int, ...],
    longest: int = UNTIL_INTERRUPTED,
) -> tuple[Step, ...]:
  """Chunks beside the decodes, or else a run of the decodes, or nothing.

  `longest`: steps of such a run, at most.
  """
  if chunks:
    return (Step(worker.id, chunks, decodes),)
  if decodes:
    return (Step(worker.id, (), decodes, longest),)
  return ()


def largest(most: int, holds: Callable[[int], bool]) -> int:
  """The largest number up to `most` for which `holds`, or 0.

  It must hold for all numbers below one for which it holds.

  >>> largest(100, lambda number: number < 37)
  36
  """
  if holds(most):
    return most
  return bisect.bisect_left(
      range(1, most), True, key=lambda number: not holds(number)
  )


def make_room(
    worker: Worker,
) -> Generator[Command, None, tuple[int, ...]]:
  """Preempts the newest until the other decodes have pages for one step.

  Comes before admission, so that what it frees can be used at once. The oldest
  is never preempted, nor is who is in a step of another lane. Where the oldest
  lacks a page all the same (others are on their way in), it sits the step out.
  """
  while _pages_lack(worker):
    holders = [*worker.prefilling.values(), *worker.decoding.values()]
    idle = [progress for progress in holders if progress.step is None]
    victim = max(idle, key=lambda progress: progress.priority)
    if victim is min(holders, key=lambda progress: progress.priority):
      return tuple(fitting(worker))
    yield Preempt(victim.id)
  return tuple(worker.decoding)


def left_out(worker: Worker) -> bool:
  """Whether a request decodes here that no run of the worker contains."""
  members = sum(len(run.decodes) for run in worker.runs if run)
  return len(worker.decoding) > members


def _pages_lack(worker: Worker) -> bool:
  """Whether the decodes need more pages for one step than are free."""
  free_pages = worker.pool.free_pages
  # None needs more than one.
  return (
      free_pages < len(worker.decoding)
      and free_pages < worker.next_step_pages()
  )


def fitting(worker: Worker) -> Iterator[int]:
  """Decodes whose next page is there, oldest first."""
  free_pages = worker.pool.free_pages
  in_order = sorted(worker.decoding.values(), key=lambda p: p.priority)
  for progress in in_order:
    pages = worker.missing_pages(progress)
    if pages <= free_pages:
      free_pages -= pages
      yield progress.id
