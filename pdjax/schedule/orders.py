"""What each command does to the world, and when it is not allowed."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from pdjax import events as ev
from pdjax.request import Progress, State
from pdjax.schedule import losses
from pdjax.schedule.checked import PLAIN, IllegalCommand, checked
from pdjax.schedule.worker import Run, Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def start(world: World, command: ev.Command) -> ev.Command:
  """Applies a command; returns it as granted (numbered, repeats lowered).

  Raises:
    IllegalCommand: no command, or not allowed now; nothing has changed.
  """
  plain = PLAIN.get(type(command))
  if plain is None or not plain(command, len(world.workers)):
    command = checked(command, world.workers)
  return _ORDERS[type(command)](world, command) or command


def _route(world: World, command: ev.Route) -> None:
  progress = _live(world, command, command.request)
  if progress.state is not State.ARRIVED:
    raise _illegal(command, "already routed")
  worker = _up(world, command, command.worker)
  del world.unrouted[progress.id]
  progress.state, progress.worker = State.WAITING, worker.id
  worker.enqueue(progress)
  world.touched.add(worker.id)


def _reserve(world: World, command: ev.Reserve) -> ev.Reserve | None:
  progress = _live(world, command, command.request)
  worker = _up(world, command, command.worker)
  if command.pages <= 0:
    raise _illegal(command, "no pages")
  if worker.id in progress.pages:
    raise _illegal(command, "already holds pages")
  queued = progress.state is State.WAITING and progress.worker == worker.id
  if not queued and progress.target is not None:
    raise _illegal(command, f"has pages on worker {progress.target} already")
  new_pages = worker.new_pages(progress, command.pages)
  if new_pages < 0:
    raise _illegal(command, "fewer pages than its prefix has here")
  if not world.admission.has_free(worker, new_pages):
    raise _illegal(command, "too few pages free")
  shared, hosted = worker.share_cached(progress)
  rest = world.admission.take(worker, command.pages - len(shared))
  worker.bring_back(hosted, rest)
  progress.pages[worker.id] = shared + rest if shared else rest
  worker.outstanding_tokens += progress.target_tokens
  world.admission.unblock(progress)
  world.touched.add(worker.id)
  C, found_pages = worker.spec.page_tokens, len(shared) + len(hosted)
  if queued:
    _admit(worker, progress, found_pages * C)
    found = (found_pages * C, 0, len(hosted) * C)
  else:
    _keep_place(world, worker, progress, found_pages)
    found = (0, found_pages * C, len(hosted) * C)
  if found == (
      command.cached_tokens, command.spared_tokens, command.host_tokens
  ):
    return None
  return ev.Reserve(progress.id, worker.id, command.pages, *found)


def _keep_place(
    world: World, worker: Worker, progress: Progress, shared_pages: int
) -> None:
  """Pages wait on `worker` for what is to come; where it is learns of it."""
  worker.inbound[progress.id] = progress
  progress.target, progress.sent_pages = worker.id, shared_pages
  if progress.worker is not None:
    world.touched.add(progress.worker)


def _admit(worker: Worker, progress: Progress, cached_tokens: int) -> None:
  """From the queue to those in prefill, with what the cache has."""
  worker.dequeue(progress)
  worker.prefilling[progress.id] = progress
  progress.state = State.PREFILL
  progress.computed_tokens = progress.reused_tokens = cached_tokens
  found_again = min(progress.lost_tokens, cached_tokens)
  progress.recomputed_tokens -= found_again
  progress.lost_tokens = 0


def _step(world: World, command: ev.Step) -> ev.Step:
  worker = _up(world, command, command.worker)
  if worker.runs[command.lane] is not None:
    raise _illegal(command, "lane is busy")
  chunks, members = command.prefill, command.decode
  if not chunks and not members:
    raise _illegal(command, "empty")
  if len(dict(chunks)) < len(chunks) or len({*members}) < len(members):
    raise _illegal(command, "a request twice")
  if command.repeats <= 0:
    raise _illegal(command, "no step asked for")
  prompts = _prompts(worker, command) if chunks else []
  run = Run(command, prompts, *_decodes(worker, command))
  if not worker.grant(run):
    raise _illegal(command, "pages do not cover one step")
  number = world.next_run()
  run.step = ev.Step(
      worker.id, chunks, members, run.repeats, command.lane, number
  )
  worker.runs[command.lane] = run
  world.begun.add(number)
  for progress in run.decodes:
    progress.step = number
  for progress in prompts:
    progress.step = number
  return run.step


def _prompts(worker: Worker, command: ev.Step) -> list[Progress]:
  """Those with so many tokens left, and pages for them."""
  group, prompts = worker.prefilling, []
  for request, tokens in command.prefill:
    progress = group.get(request)
    if progress is None or progress.step is not None:
      raise _illegal(command, f"request {request} is not ready for it")
    computed = progress.computed_tokens + tokens
    if tokens <= 0 or computed > progress.target_tokens:
      raise _illegal(command, f"request {request} has not so many tokens left")
    if computed > len(progress.pages[worker.id]) * worker.spec.page_tokens:
      raise _illegal(command, f"request {request} holds too few pages")
    prompts.append(progress)
  return prompts


def _decodes(
    worker: Worker, command: ev.Step
) -> tuple[list[Progress], list[int], int]:
  """Who decodes, the room each has, and steps to the first declared end."""
  group, index, C = worker.decoding, worker.id, worker.spec.page_tokens
  decodes, rooms = [], []
  steps = 1 if command.prefill else command.repeats
  for request in command.decode:
    progress = group.get(request)
    if progress is None or progress.step is not None:
      raise _illegal(command, f"request {request} is not ready for it")
    decodes.append(progress)
    rooms.append(len(progress.pages[index]) * C - progress.computed_tokens)
    left_tokens = progress.request.max_tokens - progress.generated_tokens
    if left_tokens < steps:
      steps = left_tokens
  return decodes, rooms, steps


def _interrupt(world: World, command: ev.Interrupt) -> None:
  worker = world.workers[command.worker]
  run = worker.runs[command.lane]
  if run is None:
    raise _illegal(command, "nothing runs")
  settled = world.admission.settled(worker, command.lane, run)
  worker.shorten(run, settled)
  run.interrupted = True


def _transfer(world: World, command: ev.Transfer) -> ev.Transfer:
  progress = _live(world, command, command.request)
  prefilling = progress.state is State.PREFILL
  if not prefilling and progress.id not in world.handoffs:
    raise _illegal(command, "not waiting for a hand-off")
  if progress.fate:
    raise _illegal(command, "it is given up")
  if progress.worker != command.source:
    raise _illegal(command, "not its source")
  source = world.workers[command.source]
  target = _up(world, command, command.target)
  ready = source.ready_pages(progress, in_step=command.group_layers > 0)
  first, end = command.pages
  if command.group_layers and progress.step not in world.begun:
    raise _illegal(command, "no step that begins now computes layers of it")
  if first != progress.sent_pages or not first < end <= ready:
    unsent = (progress.sent_pages, ready)
    raise _illegal(command, f"the pages to move are {unsent}, from the first")
  if progress.target != target.id or target.held(progress) < end:
    raise _illegal(command, "too few pages reserved at the target")
  if (room := source.sendable(end - first)) < end - first:
    raise _illegal(command, f"the staging budget has room for {room} pages")
  started = ev.Transfer(
      progress.id, source.id, target.id, command.pages, command.group_layers,
      world.next_transfer(),
  )
  world.transfers[started.transfer] = started
  progress.flying.add(started.transfer)
  progress.sent_pages = end
  source.staged_pages += end - first
  if not prefilling and end == ready:
    del world.handoffs[progress.id]
    progress.state = State.TRANSFER
  return started


def _preempt(world: World, command: ev.Preempt) -> None:
  progress = _live(world, command, command.request)
  idle = progress.state in (State.PREFILL, State.DECODE)
  if not idle or progress.busy:
    raise _illegal(command, "not idle on a worker")
  worker = world.workers[typing.cast(int, progress.worker)]
  for index in list(progress.pages):
    world.drop(progress, world.workers[index])
  progress.preemptions += 1
  progress.forget_pages()
  progress.state = State.WAITING
  worker.enqueue(progress)


def _restart(world: World, command: ev.Restart) -> None:
  progress = _live(world, command, command.request)
  if not progress.pages:
    raise _illegal(command, "holds no pages")
  if progress.busy:
    raise _illegal(command, "its pages are in use")
  losses.restart(world, progress)


def _release(world: World, command: ev.Release) -> None:
  progress = _live(world, command, command.request)
  worker = world.workers[command.worker]
  if progress.id not in worker.inbound:
    raise _illegal(command, "no reservation there")
  if progress.flying:
    raise _illegal(command, "its pages are in flight")
  del worker.inbound[progress.id]
  world.give_back(progress, worker)


def _reject(world: World, command: ev.Reject) -> None:
  progress = _live(world, command, command.request)
  if progress.state is not State.ARRIVED:
    raise _illegal(command, "already routed")
  world.end(progress, State.REJECTED)


def _give_up(world: World, command: ev.Abort | ev.Fail) -> None:
  fate = State.ABORTED if isinstance(command, ev.Abort) else State.FAILED
  progress = _live(world, command, command.request)
  world.close(progress, progress.fate or fate)


def _relabel(world: World, command: ev.Relabel) -> None:
  world.relabel(_up(world, command, command.worker), command.role)


def _wake(world: World, command: ev.Wake) -> None:
  if command.at_ps <= world.now_ps:
    raise _illegal(command, "not in the future")
  if command.at_ps > ev.LAST_PS:
    raise _illegal(command, "later than the 106 days of a log")


def _live(world: World, command: ev.Command, request: int) -> Progress:
  progress = world.progress.get(request)
  if progress is None or progress.ended:
    raise _illegal(command, "no such request, or it has ended")
  return progress


def _up(world: World, command: ev.Command, index: int) -> Worker:
  worker = world.workers[index]
  if worker.lost:
    raise _illegal(command, f"worker {index} is lost")
  return worker


def _illegal(command: ev.Command, reason: str) -> IllegalCommand:
  return IllegalCommand(f"{command}: {reason}")


_ORDERS: dict[type, Callable[[World, Any], ev.Command | None]] = {
    ev.Step: _step,
    ev.Transfer: _transfer,
    ev.Route: _route,
    ev.Reserve: _reserve,
    ev.Interrupt: _interrupt,
    ev.Preempt: _preempt,
    ev.Restart: _restart,
    ev.Release: _release,
    ev.Reject: _reject,
    ev.Abort: _give_up,
    ev.Fail: _give_up,
    ev.Relabel: _relabel,
    ev.Wake: _wake,
}
"""What each kind does; returns the command where it is granted otherwise."""
