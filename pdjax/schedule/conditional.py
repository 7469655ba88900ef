"""Conditional disaggregation: a prompt is sent away only where that pays."""

from collections.abc import Iterable

from pdjax.config import WHOLE_REQUESTS, TransferPlan
from pdjax.events import Command, Event, Route
from pdjax.request import Progress
from pdjax.schedule.placement import Disaggregated, place_each
from pdjax.schedule.recovery import Recovery
from pdjax.schedule.routing import Router
from pdjax.schedule.worker import Worker
from pdjax.schedule.world import World


class Conditional:
  """The decode worker first: it prefills what is little, P the rest.

  The rule of NVIDIA Dynamo's conditional disaggregation and of llm-d's decider,
  by the tokens a decode worker would have to compute; neither their limit on
  P's queue nor their binding to that worker is here: a hand-off chooses again.

  Args:
    most_tokens: uncached prompt tokens that a decode worker computes itself.
    cached_share: of a prompt; one with so much of it cached there stays,
      however long. None: the cache counts only by what it saves.
  """

  def __init__(
      self,
      prefill_router: Router,
      decode_router: Router,
      most_tokens: int,
      cached_share: float | None = None,
      plan: TransferPlan = WHOLE_REQUESTS,
      recovery: Recovery | None = None,
  ):
    self._decode_router = decode_router
    self._recovery = recovery or Recovery()
    self._apart = Disaggregated(
        prefill_router, decode_router, plan, recovery=self._recovery
    )
    self._most_tokens, self._cached_share = most_tokens, cached_share

  def place(self, event: Event, world: World) -> Iterable[Command]:
    return place_each(event, world, self._recovery, self._placed)

  def _placed(self, progress: Progress, world: World) -> Iterable[Command]:
    target = self._target(progress, world)
    if target and self._stays(progress, target):
      self._recovery.found(progress, "worker", "D worker")
      return (Route(progress.id, target.id),)
    return self._apart.placed(progress, world)

  def move(self, world: World) -> Iterable[Command]:
    return self._apart.move(world)

  def prepare(self, world: World) -> Iterable[Command]:
    return self._apart.prepare(world)

  def _target(self, progress: Progress, world: World) -> Worker | None:
    able = world.able(world.with_role("D"), progress.request)
    return self._decode_router.rank(progress, able)[0] if able else None

  def _stays(self, progress: Progress, target: Worker) -> bool:
    """What it lost counts as prompt."""
    tokens, left = progress.target_tokens, target.tokens_to_compute(progress)
    if left <= self._most_tokens:
      return True
    if self._cached_share is None:
      return False
    return tokens - left >= self._cached_share * tokens
