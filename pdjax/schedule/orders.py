"""What each command does to the world, and when it is not allowed."""

from __future__ import annotations

import dataclasses
import typing

from pdjax import events as ev
from pdjax.request import Progress, State
from pdjax.schedule.checked import IllegalCommand, checked
from pdjax.schedule.worker import Run, Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def start(world: World, command: ev.Command) -> ev.Command:
  """Applies a command; returns it as granted (numbered, repeats lowered).

  Raises:
    IllegalCommand: no command, or not allowed now; nothing has changed.
  """
  command = checked(command, world.workers)
  match command:
    case ev.Step():
      return _step(world, command)
    case ev.Transfer():
      return _transfer(world, command)
    case ev.Route():
      _route(world, command)
    case ev.Reserve():
      return _reserve(world, command)
    case ev.Interrupt():
      _interrupt(world, command)
    case ev.Preempt():
      _preempt(world, command)
    case ev.Release():
      _release(world, command)
    case ev.Reject():
      _reject(world, command)
    case ev.Abort():
      _give_up(world, command, State.ABORTED)
    case ev.Fail():
      _give_up(world, command, State.FAILED)
    case ev.Relabel():
      world.workers[command.worker].role = command.role
      world.touched.add(command.worker)
    case ev.Wake():
      _allow(command.at_ps > world.now_ps, command, "not in the future")
  return command


def _route(world: World, command: ev.Route) -> None:
  progress = _live(world, command, command.request)
  _allow(progress.state is State.ARRIVED, command, "already routed")
  worker = world.workers[command.worker]
  progress.state, progress.worker = State.WAITING, worker.id
  worker.enqueue(progress)
  world.touched.add(worker.id)


def _reserve(world: World, command: ev.Reserve) -> ev.Reserve:
  progress = _live(world, command, command.request)
  worker = world.workers[command.worker]
  _allow(command.pages > 0, command, "no pages")
  _allow(worker.id not in progress.pages, command, "already holds pages")
  new_pages = worker.new_pages(progress, command.pages)
  _allow(new_pages >= 0, command, "fewer pages than its prefix has here")
  free = world.has_free(worker, new_pages)
  _allow(free, command, "too few pages free")
  shared = worker.share_cached(progress)
  rest = world.admission.take(worker, command.pages - len(shared))
  progress.pages[worker.id] = shared + rest
  worker.outstanding_tokens += progress.target_tokens
  world.admission.unblock(progress)
  world.touched.add(worker.id)
  if progress.state is State.WAITING and progress.worker == worker.id:
    cached_tokens = len(shared) * worker.spec.page_tokens
    _admit(worker, progress, cached_tokens)
    return dataclasses.replace(command, cached_tokens=cached_tokens)
  worker.inbound[progress.id] = progress
  return dataclasses.replace(command, cached_tokens=0)


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
  worker = world.workers[command.worker]
  _allow(worker.runs[command.lane] is None, command, "lane is busy")
  members = [*command.decode, *(request for request, _ in command.prefill)]
  _allow(bool(members), command, "empty")
  _allow(len(set(members)) == len(members), command, "a request twice")
  decodes = [
      _ready(command, worker.decoding, request) for request in command.decode
  ]
  prompts = [
      _ready(command, worker.prefilling, request)
      for request, _ in command.prefill
  ]
  for progress, (_, tokens) in zip(prompts, command.prefill, strict=True):
    fits = 0 < tokens <= progress.remaining_prefill_tokens
    _allow(fits, command, f"request {progress.id} has not so many tokens left")
    needed = worker.pages_for(progress.computed_tokens + tokens)
    covered = needed <= worker.held(progress)
    _allow(covered, command, f"request {progress.id} holds too few pages")
  return _start_run(world, worker, command, decodes, prompts)


def _start_run(
    world: World,
    worker: Worker,
    command: ev.Step,
    decodes: list[Progress],
    prompts: list[Progress],
) -> ev.Step:
  _allow(command.repeats > 0, command, "no step asked for")
  contexts = [decode.computed_tokens for decode in decodes]
  bases = [len(decode.pages[worker.id]) for decode in decodes]
  run = Run(command, 0, decodes, prompts, contexts, bases)
  asked = 1 if prompts else command.repeats
  asked = min([asked, *(decode.remaining_tokens for decode in decodes)])
  repeats = worker.grant(run, asked)
  _allow(repeats > 0, command, "pages do not cover one step")
  number = world.next_run()
  run.step = ev.Step(
      worker.id, command.prefill, command.decode, repeats, command.lane, number
  )
  worker.runs[command.lane] = run
  for progress in (*decodes, *prompts):
    progress.step = number
  return run.step


def _interrupt(world: World, command: ev.Interrupt) -> None:
  worker = world.workers[command.worker]
  run = worker.runs[command.lane]
  if run is None:
    raise IllegalCommand(f"{command}: nothing runs")
  settled = world.admission.settled(worker, command.lane, run)
  worker.shorten(run, settled)
  run.interrupted = True


def _transfer(world: World, command: ev.Transfer) -> ev.Transfer:
  progress = _live(world, command, command.request)
  _allow(progress.id in world.handoffs, command, "not waiting for a hand-off")
  _allow(progress.worker == command.source, command, "not its source")
  source, target = (
      world.workers[command.source], world.workers[command.target],
  )
  first = progress.reused_pages.get(target.id, 0)
  whole = (first, source.pages_for(progress.computed_tokens))
  _allow(command.pages == whole, command, f"the pages to move are {whole}")
  room = target.held(progress) >= whole[1]
  _allow(room, command, "too few pages reserved at the target")
  started = dataclasses.replace(command, transfer=world.next_transfer())
  world.transfers[started.transfer] = started
  del world.handoffs[progress.id]
  progress.state, progress.transfer = State.TRANSFER, started.transfer
  return started


def _preempt(world: World, command: ev.Preempt) -> None:
  progress = _live(world, command, command.request)
  idle = progress.state in (State.PREFILL, State.DECODE)
  _allow(idle and progress.step is None, command, "not idle on a worker")
  worker = world.workers[typing.cast(int, progress.worker)]
  world.drop(progress, worker)
  progress.preemptions += 1
  progress.lost_tokens = progress.computed_tokens
  progress.recomputed_tokens += progress.lost_tokens
  progress.computed_tokens = 0
  progress.target_tokens = (
      progress.request.prompt_tokens + progress.generated_tokens
  )
  progress.state = State.WAITING
  worker.enqueue(progress)


def _release(world: World, command: ev.Release) -> None:
  progress = _live(world, command, command.request)
  worker = world.workers[command.worker]
  _allow(progress.id in worker.inbound, command, "no reservation there")
  _allow(progress.transfer is None, command, "its pages are in flight")
  del worker.inbound[progress.id]
  world.give_back(progress, worker)


def _reject(world: World, command: ev.Reject) -> None:
  progress = _live(world, command, command.request)
  _allow(progress.state is State.ARRIVED, command, "already routed")
  world.end(progress, State.REJECTED)


def _give_up(world: World, command: ev.Abort | ev.Fail, fate: State) -> None:
  progress = _live(world, command, command.request)
  progress.fate = progress.fate or fate
  if progress.step is None and progress.transfer is None:
    world.end(progress, progress.fate)


def _live(world: World, command: ev.Command, request: int) -> Progress:
  progress = world.progress.get(request)
  if progress is None or progress.ended:
    raise IllegalCommand(f"{command}: no such request, or it has ended")
  return progress


def _ready(
    command: ev.Step, group: dict[int, Progress], request: int
) -> Progress:
  progress = group.get(request)
  if progress is None or progress.step is not None:
    raise IllegalCommand(f"{command}: request {request} is not ready for it")
  return progress


def _allow(condition: bool, command: ev.Command, reason: str) -> None:
  if not condition:
    raise IllegalCommand(f"{command}: {reason}")
