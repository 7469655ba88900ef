"""What each event does to the world."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from pdjax import events as ev
from pdjax.request import Progress, State
from pdjax.schedule import losses
from pdjax.schedule.worker import Run, Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def apply(world: World, event: ev.Event) -> None:
  """Changes the world by what has happened.

  Raises:
    ValueError: time runs backwards, or the event does not fit the world.
  """
  if event.at_ps < world.now_ps:
    raise ValueError(f"time runs backwards: {event} after {world.now_ps} ps")
  world.now_ps = world.admission.now_ps = event.at_ps
  world.touched = set()
  world.begun.clear()
  _OUTCOMES[type(event)](world, event)


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
  progress = Progress(request)
  world.progress[request.id] = world.unrouted[request.id] = progress
  world.unfinished += 1


def _lose(world: World, event: ev.WorkerLost) -> None:
  worker = _worker(world, event)
  if worker.lost and not worker.stopping:
    raise ValueError(f"{event}: it is lost already")
  losses.lose(world, worker)


def _come_back(world: World, event: ev.WorkerBack) -> None:
  worker = _worker(world, event)
  if not worker.lost:
    raise ValueError(f"{event}: it was not lost")
  world.lose(worker, False)


def _worker(world: World, event: ev.WorkerLost | ev.WorkerBack) -> Worker:
  if 0 <= event.worker < len(world.workers):
    return world.workers[event.worker]
  raise ValueError(f"{event}: no such worker")


def _end_step(world: World, event: ev.StepEnded) -> None:
  worker, run = _run_of(world, event)
  worker.runs[event.lane] = None
  if event.steps < run.repeats:
    if not event.finished:
      losses.stop(world, worker)
    worker.shorten(run, event.steps)
  world.touched.add(worker.id)
  finished = dict(event.finished)
  if run.decodes:
    _count_decodes(worker, run, event.steps, finished)
  if run.prompts:
    _count_chunks(world, worker, run)
  if finished or world.doomed:
    for progress in run.prompts + run.decodes:
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
    if run and run.step.run == event.run and 0 < event.steps <= run.repeats:
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
    if progress.sent_pages == worker.ready_pages(progress):
      _await_the_rest(world, progress)
  else:
    progress.state = State.DECODE
    worker.decoding[progress.id] = progress


def _await_the_rest(world: World, progress: Progress) -> None:
  """All of its pages have been sent while they were computed."""
  del world.handoffs[progress.id]
  progress.state = State.TRANSFER
  if not progress.flying and progress.target is not None:
    _hand_off(world, progress, world.workers[progress.target])


def _end_transfer(world: World, event: ev.TransferEnded) -> None:
  if event.transfer not in world.transfers:
    raise ValueError(f"{event} ends no transfer under way")
  transfer = world.transfers.pop(event.transfer)
  _make_room(world, transfer)
  progress = world.progress[transfer.request]
  progress.flying.remove(event.transfer)
  progress.spoilt = progress.spoilt or bool(event.failure)
  if not progress.flying:
    target = world.workers[transfer.target]
    if progress.spoilt:
      _lose_place(world, progress, target)
    elif progress.state is State.TRANSFER:
      _hand_off(world, progress, target)
  if progress.fate and not progress.ended:
    world.close(progress, progress.fate)


def _make_room(world: World, transfer: ev.Transfer) -> None:
  """What its source had no room in staging for may move now."""
  source, (first, end) = world.workers[transfer.source], transfer.pages
  source.staged_pages -= end - first
  if source.spec.staging_pages is not None:
    world.touched.add(source.id)


def _lose_place(world: World, progress: Progress, target: Worker) -> None:
  """What has come of it is worth nothing without what has not."""
  source = world.workers[typing.cast(int, progress.worker)]
  if target.inbound.pop(progress.id, None):
    world.give_back(progress, target)
  progress.target, progress.sent_pages, progress.spoilt = None, 0, False
  if source.id not in progress.pages:
    losses.displace(world, progress, source)
    return
  progress.failed_transfers += 1
  if progress.state is not State.PREFILL:
    progress.state = State.HANDOFF
    world.handoffs[progress.id] = progress


def _hand_off(world: World, progress: Progress, target: Worker) -> None:
  """All of its cache is at its target."""
  if progress.worker in progress.pages:  # else it has been lost since
    world.leave(progress, world.workers[progress.worker])
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
    ev.WorkerLost: _lose,
    ev.WorkerBack: _come_back,
    ev.Woke: _wake,
}
"""What each kind of event does to the world."""
