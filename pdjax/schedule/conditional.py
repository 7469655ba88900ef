"""Conditional disaggregation: a prompt is sent away only where that pays."""

from collections.abc import Iterable

from pdjax.events import Arrived, Command, Event, Route
from pdjax.request import Request
from pdjax.schedule.placement import Disaggregated
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
  ):
    self._decode_router = decode_router
    self._apart = Disaggregated(prefill_router, decode_router)
    self._most_tokens, self._cached_share = most_tokens, cached_share

  def place(self, event: Event, world: World) -> Iterable[Command]:
    if isinstance(event, Arrived):
      request = event.request
      target = self._target(request, world)
      if target and self._stays(request, target):
        return (Route(request.id, target.id),)
    return self._apart.place(event, world)

  def move(self, world: World) -> Iterable[Command]:
    return self._apart.move(world)

  def _target(self, request: Request, world: World) -> Worker | None:
    able = world.able(world.with_role("D"), request)
    if not able:
      return None
    return self._decode_router.rank(world.progress[request.id], able)[0]

  def _stays(self, request: Request, target: Worker) -> bool:
    cached_tokens = target.cached_prefix_tokens(request)
    if request.prompt_tokens - cached_tokens <= self._most_tokens:
      return True
    if self._cached_share is None:
      return False
    return cached_tokens >= self._cached_share * request.prompt_tokens
