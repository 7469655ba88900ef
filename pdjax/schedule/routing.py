"""Routers: which of several workers gets a request."""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Protocol

from pdjax.config import ConfigError
from pdjax.request import Progress, Request
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
    return sorted(workers, key=attrgetter("outstanding_tokens", "id"))


class JoinShortestQueue:
  """Fewest requests waiting or running there, long or short alike.

  The classic dispatcher of identical servers (Winston, 1977); ties go to the
  lower worker number.
  """

  def rank(self, progress: Progress, workers: Sequence[Worker]) -> list[Worker]:
    return sorted(workers, key=lambda w: (len(w.waiting) + w.num_seqs, w.id))


class PrefixAware:
  """The longest cached prefix, among workers whose load is near the least.

  A worker whose outstanding tokens exceed the least loaded one's by more than
  `most_excess_tokens` is not asked for its cache; without any cached prefix the
  rule is `LeastOutstandingTokens`. The scheme of SGLang's cache-aware router
  and of Preble (ICLR'25): exploit a cache unless load says no.

  Args:
    cached_tokens: leading prompt tokens of a request that a worker keeps.
    most_excess_tokens: load that a cache may outweigh.
  """

  def __init__(
      self,
      cached_tokens: Callable[[Worker, Request], int] = (
          Worker.cached_prefix_tokens
      ),
      most_excess_tokens: int = 8192,
  ):
    self._cached_tokens = cached_tokens
    self._most_excess_tokens = most_excess_tokens

  def rank(self, progress: Progress, workers: Sequence[Worker]) -> list[Worker]:
    ranked = LeastOutstandingTokens().rank(progress, workers)
    most_tokens = ranked[0].outstanding_tokens + self._most_excess_tokens

    def saved_tokens(worker: Worker) -> int:
      if worker.outstanding_tokens > most_tokens:
        return 0
      return self._cached_tokens(worker, progress.request)

    return sorted(ranked, key=saved_tokens, reverse=True)


ROUTERS = {
    "round_robin": RoundRobin,
    "least_outstanding_tokens": LeastOutstandingTokens,
    "join_shortest_queue": JoinShortestQueue,
    "prefix_aware": PrefixAware,
}


def router(name: str) -> Router:
  """A fresh router by its name in `strategy.router`."""
  if name not in ROUTERS:
    raise ConfigError([f"strategy.router: {name!r} is not one of {[*ROUTERS]}"])
  return ROUTERS[name]()
