"""What a worker takes with it when it is lost, and what becomes of the rest.

Its pages are gone. Whoever waited there or held pages only there is to be
routed anew (`World.unrouted`). A transfer from or to it goes on until the
backend says how it ended: until then the other end's pages stay pinned, and its
request is in transfer.
"""

from __future__ import annotations

import typing

from pdjax.request import Progress, State
from pdjax.schedule.worker import Worker

if typing.TYPE_CHECKING:
  from pdjax.schedule.world import World


def stop(world: World, worker: Worker) -> None:
  """A run ended early, and not because an answer did: its worker is going.

  Who waits for it must not be drawn into its last moment.
  """
  worker.stopping = True
  world.lose(worker, True)


def lose(world: World, worker: Worker) -> None:
  """Takes a worker out of the world, with its queue, runs and pages."""
  waiting, inbound = list(worker.waiting), [*worker.inbound.values()]
  here = [
      progress
      for group in (worker.prefilling, worker.decoding, worker.leaving)
      for progress in group.values()
  ]
  worker.clear()
  worker.stopping = False
  world.lose(worker, True)
  for progress in (*here, *inbound):
    progress.pages.pop(worker.id)
    progress.reused_pages.pop(worker.id, None)
  for progress in waiting:
    _unroute(world, progress)
  for progress in here:
    progress.step = None
    if progress.flying:
      _await_transfers(world, progress)
    else:
      displace(world, progress, worker)
  for progress in inbound:
    progress.spoilt = bool(progress.flying)
    if not progress.flying:
      progress.target, progress.sent_pages = None, 0


def _await_transfers(world: World, progress: Progress) -> None:
  """What is still to be sent never will be."""
  if progress.state is not State.TRANSFER:
    progress.spoilt = True
  progress.state = State.TRANSFER
  world.handoffs.pop(progress.id, None)


def displace(world: World, progress: Progress, worker: Worker) -> None:
  """A request has lost what a worker held of it; notes that in the log."""
  progress.losses += 1
  world.admission.displaced(progress, worker)
  restart(world, progress)


def restart(world: World, progress: Progress) -> None:
  """Forgets all pages of a request, which is to be routed anew.

  One that is given up ends here.
  """
  for index in list(progress.pages):
    world.leave(progress, world.workers[index])
  world.handoffs.pop(progress.id, None)
  progress.forget_pages()
  _unroute(world, progress)


def _unroute(world: World, progress: Progress) -> None:
  world.admission.unblock(progress)
  progress.state, progress.worker = State.ARRIVED, None
  world.unrouted[progress.id] = progress
  if progress.fate:
    world.end(progress, progress.fate)
