"""What each event does to the world."""

from __future__ import annotations

import typing

from pdjax import events as ev
from pdjax.request import Progress, Request, State
from pdjax.schedule.worker import Run, Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def apply(world: World, event: ev.Event) -> None:
  """Changes the world by one event.

  Raises:
    ValueError: the event does not fit the world.
  """
  match event:
    case ev.Arrived():
      _arrive(world, event.request)
    case ev.StepEnded():
      _end_step(world, event)
    case ev.TransferEnded():
      _end_transfer(world, event)
    case ev.Woke():
      world.touched.update(range(len(world.workers)))
    case ev.TransferProgressed():
      pass
    case ev.Cancelled() | ev.Deadline():
      progress = world.progress.get(event.request)
      if progress is None or progress.ended:
        raise ValueError(f"{event}: no such request, or it has ended")
    case _:
      raise ValueError(f"no rule for {event}")


def _arrive(world: World, request: Request) -> None:
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
  for decode in run.decodes:
    made = finished.get(decode.id, event.steps)
    cached = decode.computed_tokens
    worker.remember(decode, cached, cached + made)
    decode.computed_tokens += event.steps
    decode.generated_tokens += made
  for progress, tokens in zip(run.prompts, run.chunks, strict=True):
    cached = progress.computed_tokens
    progress.computed_tokens += tokens
    worker.remember(progress, cached, progress.computed_tokens)
    if not progress.remaining_prefill_tokens:
      _complete_prefill(world, worker, progress)
  for progress in (*run.prompts, *run.decodes):
    progress.step = None
    _settle_fate(world, progress, progress.id in finished)


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
  if worker.role == "P":
    progress.state = State.HANDOFF
    worker.leaving[progress.id] = progress
    world.handoffs[progress.id] = progress
  else:
    progress.state = State.DECODE
    worker.decoding[progress.id] = progress


def _settle_fate(world: World, progress: Progress, finished: bool) -> None:
  if finished:
    world.end(progress, State.FINISHED)
  elif progress.fate:
    world.end(progress, progress.fate)


def _end_transfer(world: World, event: ev.TransferEnded) -> None:
  if event.transfer not in world.transfers:
    raise ValueError(f"{event} ends no transfer under way")
  transfer = world.transfers.pop(event.transfer)
  progress = world.progress[transfer.request]
  source = world.workers[transfer.source]
  target = world.workers[transfer.target]
  progress.transfer = None
  del target.inbound[progress.id]
  if event.failure:
    progress.failed_transfers += 1
    world.give_back(progress, target)
    progress.state = State.HANDOFF
    world.handoffs[progress.id] = progress
  else:
    world.leave(progress, source)
    target.remember(progress, 0, progress.computed_tokens)
    progress.worker, progress.state = target.id, State.DECODE
    target.decoding[progress.id] = progress
    world.touched.add(target.id)
  _settle_fate(world, progress, finished=False)
