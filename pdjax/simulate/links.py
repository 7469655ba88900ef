"""Moving bytes between workers: one link, and many flows sharing links.

A flow runs from one worker to another. It first waits the link's latency, then
shares the egress of its source and the ingress of its target max-min fairly
with the flows that cross them: no flow could go faster except by slowing one
that is no faster (progressive filling; Bertsekas and Gallager, Data Networks,
section 6.5.2).

Everything is exact and repeatable: rates are whole bytes per second (a share
is rounded down), what is left of a flow is counted in byte-picoseconds per
second, and ties fall to the smaller number. Times are integer picoseconds.
"""

import dataclasses
from collections.abc import Mapping

from pdjax.simulate.rates import PS_PER_S, ps_at


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
  """A way out of a worker and an equal way in."""

  bandwidth_bytes_per_s: int
  """In each direction."""
  latency_ps: int = 0

  def __post_init__(self):
    if self.bandwidth_bytes_per_s < 1:
      raise ValueError(f"{self.bandwidth_bytes_per_s=} must be at least 1")
    if self.latency_ps < 0:
      raise ValueError(f"{self.latency_ps=} must not be negative")

  def transfer_ps(self, size_bytes: int) -> int:
    """Time of `size_bytes` with the link to themselves, rounded up."""
    return self.latency_ps + ps_at(size_bytes, self.bandwidth_bytes_per_s)


@dataclasses.dataclass(slots=True)
class _Flow:
  source: int
  target: int
  left: int
  """Bytes times PS_PER_S."""
  opens_ps: int
  rate: int = 0
  """Bytes per second; 0 until it opens."""

  @property
  def ends(self) -> tuple[tuple[str, int], tuple[str, int]]:
    return ("egress", self.source), ("ingress", self.target)

  def done_ps(self, now_ps: int) -> int:
    return now_ps - (-self.left // self.rate)


class Links:
  """The flows in progress between workers.

  Time moves with `start` and `finish` and never backwards. `next_completion`
  only looks; its answer holds until another flow starts.
  """

  def __init__(self, links: Mapping[int, Link]):
    """`links`: each worker's own."""
    self._links = dict(links)
    self._flows: dict[int, _Flow] = {}
    self._now_ps = 0
    self._next: tuple[int, int] | None = None

  def start(
      self,
      flow: int,
      source: int,
      target: int,
      size_bytes: int,
      at_ps: int,
      *,
      goes_on: bool = False,
  ) -> None:
    """Starts a flow, numbered by the caller.

    Its latency is the larger of the two ends', or none where it `goes_on`
    after another one.

    Raises:
      ValueError: the number is in use, the workers are the same, there is
        nothing to move, or `at_ps` lies before an earlier call or after a
        completion that was not taken out.
    """
    if flow in self._flows:
      raise ValueError(f"{flow=} is in progress")
    if source == target:
      raise ValueError(f"{flow=}: {source=} and {target=} are the same worker")
    if size_bytes < 1:
      raise ValueError(f"{flow=}: {size_bytes=} must be at least 1")
    if at_ps < self._now_ps or (self._next and self._next[0] < at_ps):
      raise ValueError(f"{flow=}: {at_ps=}, {self._now_ps=}, {self._next=}")
    self._advance(at_ps)
    latency_ps = 0 if goes_on else max(
        self._links[source].latency_ps, self._links[target].latency_ps
    )
    self._flows[flow] = _Flow(
        source, target, size_bytes * PS_PER_S, at_ps + latency_ps
    )
    self._share()
    self._next = self._look_ahead()

  def next_completion(self) -> tuple[int, int] | None:
    """(when, which) of the flow to end first; None without flows."""
    return self._next

  def finish(self) -> tuple[int, int]:
    """Takes the next completion out and moves time to it."""
    if self._next is None:
      raise ValueError("no flow is in progress")
    completion = at_ps, flow = self._next
    if len(self._flows) == 1:  # nobody else is to be moved on
      self._flows.clear()
      self._now_ps, self._next = at_ps, None
    else:
      self._advance(at_ps)
      self._end(flow)
    return completion

  def drop(self, flow: int, at_ps: int) -> None:
    """Ends a flow early, if it is in progress.

    Raises:
      ValueError: as `start`.
    """
    if flow not in self._flows:
      return
    if at_ps < self._now_ps or (self._next and self._next[0] < at_ps):
      raise ValueError(f"{flow=}: {at_ps=}, {self._now_ps=}, {self._next=}")
    self._advance(at_ps)
    self._end(flow)

  def _end(self, flow: int) -> None:
    """The others share what it had."""
    del self._flows[flow]
    self._share()
    self._next = self._look_ahead()

  def _look_ahead(self) -> tuple[int, int] | None:
    """The next completion, on a copy carried past the openings before it."""
    if not self._flows:
      return None
    if len(self._flows) == 1:
      return self._alone()
    ahead = self
    while True:
      opens_ps = ahead._next_opening()
      done = min(
          (
              (flow.done_ps(ahead._now_ps), number)
              for number, flow in ahead._flows.items()
              if flow.rate
          ),
          default=None,
      )
      if done and (opens_ps is None or done[0] <= opens_ps):
        return done
      assert opens_ps is not None
      ahead = ahead._copy() if ahead is self else ahead
      ahead._advance(opens_ps)

  def _alone(self) -> tuple[int, int]:
    """The completion of the only flow there is, open or not."""
    ((number, flow),) = self._flows.items()
    begins_ps = max(flow.opens_ps, self._now_ps)
    return begins_ps - (-flow.left // self._most_rate(flow)), number

  def _most_rate(self, flow: _Flow) -> int:
    """Of a flow that shares neither end."""
    return min(
        self._links[flow.source].bandwidth_bytes_per_s,
        self._links[flow.target].bandwidth_bytes_per_s,
    )

  def _copy(self) -> "Links":
    copied = Links(self._links)
    copied._now_ps = self._now_ps
    copied._flows = {
        number: _Flow(
            flow.source, flow.target, flow.left, flow.opens_ps, flow.rate
        )
        for number, flow in self._flows.items()
    }
    return copied

  def _advance(self, to_ps: int) -> None:
    """Moves time on, through the openings on the way."""
    if not self._flows:
      self._now_ps = to_ps
      return
    while (opens_ps := self._next_opening()) is not None and opens_ps <= to_ps:
      self._progress(opens_ps)
      self._share()
    self._progress(to_ps)

  def _progress(self, to_ps: int) -> None:
    passed_ps = to_ps - self._now_ps
    self._now_ps = to_ps
    for flow in self._flows.values():
      flow.left = max(0, flow.left - flow.rate * passed_ps)

  def _next_opening(self) -> int | None:
    closed = (flow.opens_ps for flow in self._flows.values() if not flow.rate)
    return min(closed, default=None)

  def _share(self) -> None:
    """Gives the open flows their rates: the tightest end first."""
    if len(self._flows) == 1:
      (flow,) = self._flows.values()
      if flow.opens_ps <= self._now_ps:
        flow.rate = self._most_rate(flow)
      return
    users: dict[tuple[str, int], list[_Flow]] = {}
    for flow in self._flows.values():
      if flow.opens_ps <= self._now_ps:
        flow.rate = 0
        for end in flow.ends:
          users.setdefault(end, []).append(flow)
    spare = {end: self._links[end[1]].bandwidth_bytes_per_s for end in users}
    waiting = {end: len(flows) for end, flows in users.items()}
    while waiting:
      share, tight = min((spare[e] // n, e) for e, n in waiting.items())
      for flow in users[tight]:
        if not flow.rate:
          flow.rate = max(1, share)  # More flows than bytes a second: crawl.
          for end in flow.ends:
            spare[end] -= flow.rate
            waiting[end] -= 1
      waiting = {end: n for end, n in waiting.items() if n}
