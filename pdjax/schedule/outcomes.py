"""What each event does to the world."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from pdjax import events as ev
from pdjax.request import Progress, State
from pdjax.schedule.worker import Run, Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def apply(world: World, event: ev.Event) -> None:
  """Changes the world by one event.

  Raises:
    ValueError: the event does not fit the world.
  """
  outcome = _OUTCOMES.get(type(event))
  if outcome is None:
    raise ValueError(f"no rule for {event}")
  outcome(world, event)


def _progress(world: World, event: ev.TransferProgressed) -> None:
  """Is of no interest to the world."""


def _wake(world: World, event: ev.Woke) -> None:
  world.touched.update(range(len(world.workers)))


def _give_up(world: World, event: ev.Cancelled | ev.Deadline) -> None:
  """The policy decides what becomes of the request."""
  progress = world.progress.get(event.request)
  if progress is None or progress.ended:
    raise ValueError(f"{event}: no such request, or it has ended")


def _arrive(world: World, event: ev.Arrived) -> None:
  request = event.request
  if request.id in world.progress:
    raise ValueError(f"request {request.id} arrived twice")
  world.progress[request.id] = Progress(
      request, target_tokens=request.prompt_tokens
  )
  world.unfinished += 1


def _end_step(world: World, event: ev.StepEnded) -> None:
  worker, run = _run_of(world, event)
  worker.runs[event.lane] = None
  worker.shorten(run, event.steps)
  world.touched.add(worker.id)
  finished = dict(event.finished)
  _count_decodes(worker, run, event.steps, finished)
  if run.prompts:
    _count_chunks(world, worker, run)
  if finished or any([progress.fate for progress in run.members]):
    for progress in run.members:
      if progress.id in finished:
        world.close(progress, State.FINISHED)
      elif progress.fate:
        world.close(progress, progress.fate)


def _count_decodes(
    worker: Worker, run: Run, steps: int, finished: dict[int, int]
) -> None:
  for decode in run.decodes:
    made = finished.get(decode.id, steps)
    if worker.cache:
      cached = decode.computed_tokens
      worker.remember(decode, cached, cached + made)
    decode.computed_tokens += steps
    decode.generated_tokens += made
    decode.step = None


def _count_chunks(world: World, worker: Worker, run: Run) -> None:
  for progress, (_, tokens) in zip(run.prompts, run.step.prefill, strict=True):
    cached = progress.computed_tokens
    progress.computed_tokens += tokens
    progress.step = None
    if worker.cache:
      worker.remember(progress, cached, progress.computed_tokens)
    if progress.computed_tokens == progress.target_tokens:
      _complete_prefill(world, worker, progress)


def _run_of(world: World, event: ev.StepEnded) -> tuple[Worker, Run]:
  """The worker and the run that an event ends."""
  if 0 <= event.worker < len(world.workers):
    worker = world.workers[event.worker]
    run = worker.runs[event.lane] if event.lane < len(worker.runs) else None
    if run and run.id == event.run and 0 < event.steps <= run.repeats:
      return worker, run
  raise ValueError(f"{event} does not end the run of its lane")


def _complete_prefill(world: World, worker: Worker, progress: Progress) -> None:
  """The step that computes the last prompt token also samples a token."""
  progress.generated_tokens += 1
  del worker.prefilling[progress.id]
  if worker.role == "P" or progress.target is not None:
    progress.state = State.HANDOFF
    worker.leaving[progress.id] = progress
    world.handoffs[progress.id] = progress
  else:
    progress.state = State.DECODE
    worker.decoding[progress.id] = progress


def _end_transfer(world: World, event: ev.TransferEnded) -> None:
  if event.transfer not in world.transfers:
    raise ValueError(f"{event} ends no transfer under way")
  transfer = world.transfers.pop(event.transfer)
  progress = world.progress[transfer.request]
  progress.flying.remove(event.transfer)
  progress.spoilt = progress.spoilt or bool(event.failure)
  if not progress.flying:
    target = world.workers[transfer.target]
    if progress.spoilt:
      _lose_place(world, progress, target)
    elif progress.state is State.TRANSFER:
      _hand_off(world, progress, target)
  if progress.fate:
    world.close(progress, progress.fate)


def _lose_place(world: World, progress: Progress, target: Worker) -> None:
  """What has come of it is worth nothing without what has not."""
  progress.failed_transfers += 1
  del target.inbound[progress.id]
  world.give_back(progress, target)
  if progress.state is not State.PREFILL:
    progress.state = State.HANDOFF
    world.handoffs[progress.id] = progress


def _hand_off(world: World, progress: Progress, target: Worker) -> None:
  """All of its cache is at its target."""
  world.leave(progress, world.workers[typing.cast(int, progress.worker)])
  del target.inbound[progress.id]
  progress.target, progress.sent_pages = None, 0
  target.remember(progress, 0, progress.computed_tokens)
  progress.worker, progress.state = target.id, State.DECODE
  target.decoding[progress.id] = progress
  world.touched.add(target.id)


_OUTCOMES: dict[type, Callable[[World, Any], None]] = {
    ev.Arrived: _arrive,
    ev.StepEnded: _end_step,
    ev.TransferEnded: _end_transfer,
    ev.TransferProgressed: _progress,
    ev.Cancelled: _give_up,
    ev.Deadline: _give_up,
    ev.Woke: _wake,
}
"""What each kind of event does to the world."""
