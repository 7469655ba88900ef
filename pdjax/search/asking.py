"""How a search asks for runs: a generator of probes that is sent their results.

A search knows nothing of how runs are made. It yields the probes it wants next
and is sent a result for each, at least; so several searches can go on side by
side, their probes served together, and a queue in a test can take the place of
a cluster.
"""

import dataclasses
from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

Row = Mapping[str, Any]
"""What `pdjax.metrics.summary` says of a run."""


@dataclasses.dataclass(frozen=True, slots=True)
class Probe:
  """One run: a design, served at a rate in requests per second."""

  design: int
  """Number among all designs of the experiment."""
  rate: float
  seed: int


@dataclasses.dataclass(frozen=True, slots=True)
class NoRun:
  """There is no result, and why."""

  reason: str
  failed: bool
  """The run failed; else there can be no such run, such as one that needs
  more requests than a trace has."""


Found = Mapping[Probe, Row | NoRun]
Search = Generator[Sequence[Probe], Found, T]


def together(searches: Sequence[Search[T]]) -> Search[list[T]]:
  """Several searches at once; what each ends with, in their order."""
  ends: dict[int, T] = {}
  waiting: dict[int, Sequence[Probe]] = {}

  def go_on(number: int, found: Found | None) -> None:
    search = searches[number]
    try:
      waiting[number] = next(search) if found is None else search.send(found)
    except StopIteration as end:
      waiting.pop(number, None)
      ends[number] = end.value

  for number in range(len(searches)):
    go_on(number, None)
  while waiting:
    found = yield [probe for probes in waiting.values() for probe in probes]
    for number in list(waiting):
      go_on(number, found)
  return [ends[number] for number in range(len(searches))]
