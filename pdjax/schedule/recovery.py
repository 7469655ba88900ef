"""What becomes of requests that a fault has hit: again, elsewhere, or failed.

A transfer that failed is sent again after a pause (`retry`), or its pages are
given up and the prompt is computed elsewhere (`recompute`). Pages lost with
their worker can only be computed again. Under `fail` either ends the request.
Whoever merely waited in the queue of a lost worker has lost nothing and goes to
another. Nobody waits for ever: after so many recoveries, and after so long
without any worker that could take it, a request fails.

Units: `_ps` integer picoseconds.
"""

from collections.abc import Iterator

from pdjax.config import Faults
from pdjax.events import (
    LAST_PS,
  Command,
  Event,
  Fail,
  Restart,
  TransferEnded,
  Wake,
  WorkerLost,
)
from pdjax.request import Progress
from pdjax.schedule.world import World

PS_PER_S = 10**12


class Recovery:
  """The rule of one run, and who waits for what because of it."""

  def __init__(self, rule: Faults | None = None):
    rule = rule or Faults()
    self._rule = rule.recovery
    self._retries = rule.retries
    self._backoff_ps = round(rule.backoff_s * PS_PER_S)
    self._wait_ps = max(1, round(rule.wait_s * PS_PER_S))
    self._answered: dict[int, int] = {}
    """Faults of each request that have been."""
    self._not_before_ps: dict[int, int] = {}
    self._stranded_ps: dict[tuple[int, str], int] = {}
    """Since when nobody of a role could take a request."""

  def answer(self, event: Event, world: World) -> Iterator[Command]:
    """What follows from a fault at once."""
    match event:
      case TransferEnded():
        progress = world.progress[event.request]
        if not progress.ended and self._is_new(progress):
          yield from self._after_transfer(progress, event, world)
      case WorkerLost():
        reason = f"worker {event.worker} was lost"
        for progress in list(world.unrouted.values()):
          if self._is_new(progress):
            yield from self._judge(progress, reason)

  def _is_new(self, progress: Progress) -> bool:
    """Whether a fault has hit a request that has not been answered."""
    if progress.faults == self._answered.get(progress.id, 0):
      return False
    self._answered[progress.id] = progress.faults
    return True

  def _after_transfer(
      self, progress: Progress, event: TransferEnded, world: World
  ) -> Iterator[Command]:
    """The last of its transfers is over, and one of them has failed."""
    why = event.failure or "another of its transfers failed"
    failed = list(self._judge(progress, f"transfer failed: {why}"))
    if failed or progress.id in world.unrouted:
      yield from failed
    elif self._rule == "recompute" and progress.id in world.handoffs:
      yield Restart(progress.id)
    elif self._backoff_ps:
      until_ps = world.now_ps
      until_ps += self._backoff_ps << progress.failed_transfers - 1
      if until_ps > LAST_PS:
        yield Fail(progress.id, f"{why}; no log is as long as its next pause")
        return
      self._not_before_ps[progress.id] = until_ps
      yield Wake(until_ps)

  def _judge(self, progress: Progress, reason: str) -> Iterator[Command]:
    """Fails a request that is not to be recovered, or not again."""
    if self._rule == "fail":
      yield Fail(progress.id, reason)
    elif progress.faults > self._retries:
      yield Fail(
          progress.id, f"{reason}; {progress.faults} faults, faults.retries is"
          f" {self._retries}",
      )

  def may_send(self, progress: Progress, world: World) -> bool:
    """Whether the pause after its last transfer is over."""
    return self._not_before_ps.get(progress.id, 0) <= world.now_ps

  def strand(
      self, progress: Progress, world: World, role: str
  ) -> Iterator[Command]:
    """Nobody can take a request now; it waits, but not for ever.

    Asked of at every event; `role` says in words who is lacking.
    """
    since_ps = self._stranded_ps.get((progress.id, role))
    if since_ps is None:
      self._stranded_ps[progress.id, role] = world.now_ps
      yield Wake(world.now_ps + self._wait_ps)
    elif world.now_ps >= since_ps + self._wait_ps:
      del self._stranded_ps[progress.id, role]
      wait_s = self._wait_ps / PS_PER_S
      yield Fail(progress.id, f"no {role} for {wait_s:g} s")

  def all_found(self) -> None:
    """No worker is lost."""
    self._stranded_ps.clear()

  def found(self, progress: Progress, *roles: str) -> None:
    """Somebody can take a request; of other roles it may still lack one."""
    for role in roles:
      self._stranded_ps.pop((progress.id, role), None)
