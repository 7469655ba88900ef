"""Routers: which of several workers gets a request."""

from collections.abc import Sequence
from typing import Protocol

from pdjax.config import ConfigError
from pdjax.request import Progress
from pdjax.schedule.worker import Worker


class Router(Protocol):
  """Orders the workers that could take a request, best first."""

  def rank(
      self, progress: Progress, workers: Sequence[Worker]
  ) -> list[Worker]: ...


class RoundRobin:
  """Each worker in turn, whatever its load."""

  def __init__(self):
    self._turns: dict[int, int] = {}
    self._turn = 0

  def rank(self, progress: Progress, workers: Sequence[Worker]) -> list[Worker]:
    """A request keeps its turn, however often it is ranked."""
    if progress.id not in self._turns:
      self._turns[progress.id] = self._turn
      self._turn += 1
    start = self._turns[progress.id] % len(workers)
    return [*workers[start:], *workers[:start]]


class LeastOutstandingTokens:
  """Fewest prompt and answer tokens routed there and not yet done.

  The load measure of the token-aware balancers in front of serving engines;
  ties go to the lower worker number.
  """

  def rank(self, progress: Progress, workers: Sequence[Worker]) -> list[Worker]:
    return sorted(workers, key=lambda w: (w.outstanding_tokens, w.id))


ROUTERS = {
    "round_robin": RoundRobin,
    "least_outstanding_tokens": LeastOutstandingTokens,
}


def router(name: str) -> Router:
  """A fresh router by its name in `strategy.router`."""
  if name not in ROUTERS:
    raise ConfigError([f"strategy.router: {name!r} is not one of {[*ROUTERS]}"])
  return ROUTERS[name]()
