"""A workload: the requests of a run and the truth about their answers.

Not a scheduler's input as a whole: `output_tokens` is for backends alone.

Units: `_ps` integer picoseconds from the start of the run, `_tokens` tokens.
"""

import dataclasses
import hashlib
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from pdjax.clients import Clients
from pdjax.request import Request
from pdjax.window import Window
from pdjax.workload.clients import NOBODY, Behaviour, Pauses, clients_of


@dataclasses.dataclass(frozen=True)
class Workload:
  """Requests in order of (arrival, id), with ids 0, 1, 2 and so on.

  Raises:
    ValueError: requests out of order, or an answer longer than declared.
  """

  requests: tuple[Request, ...]
  output_tokens: tuple[int, ...]
  """True answer lengths by id. An upper bound only where `stop` is `eos`."""
  conditions: dict
  """What the workload is, fit for JSON: source, scales, cuts, rules, notes."""
  behaviour: Behaviour | Pauses | None = None
  """Of users whose next request waits for their last, or of people in
  conversations; None: times are fixed."""
  window: Window | None = None
  """What is measured; None: all of it."""
  cancel_after_ps: Mapping[int, int] = dataclasses.field(default_factory=dict)
  """How long after its arrival a request's client gives up unless it has been
  served, by id, of those that do. The truth, as `output_tokens`."""
  cut: frozenset[int] = frozenset()
  """Ids of requests that declare less than their true length: an answer ends
  there, and `output_tokens` says so."""

  def __post_init__(self):
    if len(self.requests) != len(self.output_tokens):
      raise ValueError(f"{len(self.requests)=} {len(self.output_tokens)=}")
    for id, request in enumerate(self.requests):
      if request.id != id:
        raise ValueError(f"request {request.id} stands at place {id}")
      if not 1 <= self.output_tokens[id] <= request.max_tokens:
        raise ValueError(f"{id=}: {self.output_tokens[id]=} {request=}")
    for early, late in itertools.pairwise(self.requests):
      if early.arrival_ps > late.arrival_ps:
        raise ValueError(f"{late.id=} arrives before {early.id=}")
    for id, after_ps in self.cancel_after_ps.items():
      if not 0 <= id < len(self.requests) or after_ps < 1:
        raise ValueError(f"{id=}: cancelled {after_ps=} after its arrival")

  @property
  def total_tokens(self) -> list[int]:
    """Of each request with the longest answer that it declares."""
    return [r.prompt_tokens + r.max_tokens for r in self.requests]

  def clients(self) -> Clients:
    """Who sends the requests, at the start of a run."""
    return clients_of(
        self.requests, self.behaviour, self.window, self.cancel_after_ps
    )

  @property
  def least_arrivals(self) -> int:
    """Requests that arrive whatever the system does."""
    if self.window is None:
      return len(self.requests)
    if self.behaviour is not None:
      return 1
    return sum(r.arrival_ps < self.window.end_ps for r in self.requests)


def content_sha256(
    requests: Sequence[Request],
    output_tokens: Sequence[int],
    behaviour: Behaviour | Pauses | None = None,
    cancel_after_ps: Mapping[int, int] = NOBODY,
) -> str:
  """Hash of all that is asked and when, and of the truth; nothing else."""
  table = [
      (
          request.arrival_ps,
          request.prompt_tokens,
          request.max_tokens,
          output,
          request.prefix_block_tokens,
          len(request.prefix_ids),
      )
      for request, output in zip(requests, output_tokens, strict=True)
  ]
  ids = itertools.chain.from_iterable(r.prefix_ids for r in requests)
  digest = hashlib.sha256(np.array(table, dtype="<i8").tobytes())
  digest.update(np.fromiter(ids, dtype="<i8").tobytes())
  deadlines = [
      (r.id, r.deadline_ps) for r in requests if r.deadline_ps is not None
  ]
  sessions = [(r.id, r.session) for r in requests if r.session is not None]
  for name, limits in (
      ("deadline", deadlines), ("cancel", sorted(cancel_after_ps.items())),
      ("session", sessions),
  ):
    if limits:
      digest.update(name.encode() + np.array(limits, dtype="<i8").tobytes())
  if behaviour is not None:
    for column in dataclasses.astuple(behaviour):
      digest.update(np.array(column, dtype="<i8").tobytes())
  return digest.hexdigest()
