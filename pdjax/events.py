"""The vocabulary of a run: events, commands, marks, and the log of them.

Events are what happens to the scheduler, commands are what it decides, marks
are what the world notes down on the way. The log holds all three in order; it
is the only product of a run, and metrics, timelines, comparison, calibration
and replay read nothing else.

Times are integer picoseconds from the start of the run (`_ps`): floored
nanosecond steps would not add up to the floor of their sum. Readers show
nanoseconds. `worker`, `lane`, `request`, `run` and `transfer` are small
integers; a run and a transfer are numbered in the order they start.
"""

import operator
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from pdjax.entry import entry
from pdjax.eventcolumns import Block, columns_of, joined
from pdjax.request import Request
from pdjax.segments import Segment

FORMAT_VERSION = 7


# Events. -------------------------------------------------------------------


@entry
class Arrived:
  """A request reached the scheduler; its intended arrival is in the request."""

  at_ps: int
  request: Request


@entry
class StepEnded:
  """A run is over after `steps` steps.

  Step j of the run ended at `started_ps + elapsed_ps(segments, j)`; that is
  when its tokens were on the host. `at_ps` is when the scheduler learned it,
  never earlier than the last token. A request in `finished` made that many
  tokens in this run and is complete (end token, stop, or true length).
  """

  at_ps: int
  worker: int
  lane: int
  run: int
  started_ps: int
  steps: int
  segments: tuple[Segment, ...]
  finished: tuple[tuple[int, int], ...] = ()


@entry
class TransferProgressed:
  """A transfer passed a stage: `gathered` (off the source) or `sent`."""

  at_ps: int
  transfer: int
  request: int
  stage: str


@entry
class TransferEnded:
  """All bytes of a transfer are in the target's pages, or it failed."""

  at_ps: int
  transfer: int
  request: int
  moved_bytes: int
  failure: str = ""
  fault: str = ""
  """What was done to it on purpose (`pdjax.faults`); no scheduler looks."""


@entry
class Cancelled:
  """The client no longer wants the answer of a request that has not ended."""

  at_ps: int
  request: int


@entry
class Deadline:
  """The deadline of a request that has not ended passed."""

  at_ps: int
  request: int


@entry
class Woke:
  """The time asked for by a `Wake` has come."""

  at_ps: int
  asked_ps: int


@entry
class WorkerLost:
  """A worker is gone with every page it held, and with the step under way.

  Steps of a run that were over come before, as a `StepEnded` of their own.
  """

  at_ps: int
  worker: int


@entry
class WorkerBack:
  """A lost worker is back with an empty pool."""

  at_ps: int
  worker: int


Event = (
    StepEnded
    | TransferProgressed
    | TransferEnded
    | WorkerLost
    | WorkerBack
    | Cancelled
    | Deadline
    | Arrived
    | Woke
)
EVENTS: tuple[type, ...] = typing.get_args(Event)
"""In the order in which events of one instant are delivered."""

_RANK = {kind: rank for rank, kind in enumerate(EVENTS)}


def lane_subject(worker: int, lane: int) -> int:
  """Of the end of a lane's run; in the order of workers, then of lanes."""
  return worker << 8 | lane


_SUBJECTS: dict[type, Callable[[Any], int]] = {
    StepEnded: lambda event: lane_subject(event.worker, event.lane),
    TransferProgressed: operator.attrgetter("transfer"),
    TransferEnded: operator.attrgetter("transfer"),
    WorkerLost: operator.attrgetter("worker"),
    WorkerBack: operator.attrgetter("worker"),
    Cancelled: operator.attrgetter("request"),
    Deadline: operator.attrgetter("request"),
    Arrived: operator.attrgetter("request.id"),
    Woke: operator.attrgetter("asked_ps"),
}


def delivery_key(event: Event) -> tuple[int, int, int]:
  """Sort key of pending events: (time, kind, subject).

  The subject (lane, transfer or request) breaks ties instead of a sequence
  number, so a run of steps and the same steps one by one deliver alike.
  """
  kind = type(event)
  return (event.at_ps, _RANK[kind], _SUBJECTS[kind](event))


# Commands. -----------------------------------------------------------------


@entry
class Route:
  """Puts a request into a worker's queue."""

  request: int
  worker: int


@entry
class Reserve:
  """Takes pages for a request on a worker.

  On the worker where it waits this admits it; on another worker it makes room
  for a transfer. The world says how many of its tokens are in the worker's
  prefix cache, of the one admitted or of the one to come; a policy leaves that
  alone.
  """

  request: int
  worker: int
  pages: int
  cached_tokens: int = 0
  """Of an admitted request: they are not computed."""
  spared_tokens: int = 0
  """Of one to be handed off: their pages are not sent."""
  host_tokens: int = 0
  """Of these, those that come back from host memory."""


LAST_PS = 2**63 - 1
"""Of a log's clock, whose times are int64: 106 days."""
UNTIL_INTERRUPTED = 2**31
"""Repeats of a decode run; the world lowers it to the first declared end."""


@entry
class Step:
  """One pass over prompt chunks and decodes, or `repeats` passes of decodes.

  `prefill` pairs a request with the number of its next tokens to compute. With
  prefill the world sets `repeats` to 1. A policy leaves `run` alone; the world
  numbers it and lowers `repeats` to what the pages cover.
  """

  worker: int
  prefill: tuple[tuple[int, int], ...] = ()
  decode: tuple[int, ...] = ()
  repeats: int = 1
  lane: int = 0
  run: int = -1


@entry
class Interrupt:
  """Ends a worker's run at the next step that can still be recalled."""

  worker: int
  lane: int = 0


@entry
class Transfer:
  """Moves a request's logical pages [first, last) from worker to worker.

  With `group_layers` the pages are those that the step under way completes, and
  move so many layers at a time, as these are computed; 0: all layers at once.
  The world numbers the transfer.
  """

  request: int
  source: int
  target: int
  pages: tuple[int, int]
  group_layers: int = 0
  transfer: int = -1


@entry
class Preempt:
  """Drops a request's pages on its worker; it recomputes there later."""

  request: int


@entry
class Restart:
  """Drops a request's pages wherever it has any: it is to be routed anew."""

  request: int


@entry
class Release:
  """Gives back pages reserved for a request on a worker."""

  request: int
  worker: int


@entry
class Reject:
  """Refuses a request that can never be served."""

  request: int
  reason: str


@entry
class Abort:
  """Ends a request its client gave up, now or when its step is over."""

  request: int
  reason: str


@entry
class Fail:
  """Gives a request up that should have been served; otherwise as `Abort`."""

  request: int
  reason: str


@entry
class Relabel:
  """Gives a worker another role."""

  worker: int
  role: str


@entry
class Wake:
  """Asks for a `Woke` at a time."""

  at_ps: int


Command = (
    Route
    | Reserve
    | Step
    | Interrupt
    | Transfer
    | Preempt
    | Restart
    | Release
    | Reject
    | Abort
    | Fail
    | Relabel
    | Wake
)
COMMANDS: tuple[type, ...] = typing.get_args(Command)


# Marks. --------------------------------------------------------------------


@entry
class Blocked:
  """A request cannot go on for want of a resource of a worker.

  Noted once for each worker and resource until it goes on.
  """

  request: int
  worker: int
  resource: str
  """`pages` or `seqs` (the batch limit)."""


@entry
class Unblocked:
  """A blocked request goes on, or has ended."""

  request: int


@entry
class Settled:
  """A run's first `steps` steps were counted as taken when its pool was read.

  A backend answers the question; replay answers it again from the log.
  """

  worker: int
  lane: int
  run: int
  steps: int


@entry
class Displaced:
  """A request has lost its pages with its worker: it is to be routed anew."""

  request: int
  worker: int


Mark = Blocked | Unblocked | Settled | Displaced
MARKS: tuple[type, ...] = typing.get_args(Mark)

Entry = Event | Command | Mark
ENTRIES: tuple[type, ...] = EVENTS + COMMANDS + MARKS


BLOCK = 2**16
"""Entries of a log that are columns together, and a row group of its file."""
PART = 2**10
"""Entries that are turned into columns at a time: few enough that the memory
of their objects is still in the processor's cache when it is used again."""


def _count(blocks: Iterable[Block]) -> int:
  """Entries in some blocks."""
  return sum([len(block.times_ps) for block in blocks])


class Log:
  """Entries of one run in order, each with the time it was written.

  Kept as columns in blocks; the latest entries are still objects.
  """

  def __init__(self, blocks: Iterable[Block] = ()):
    self._blocks = list(blocks)
    self._parts: list[Block] = []
    """Of the block to come."""
    self._times_ps: list[int] = []
    self._entries: list[Entry] = []
    self._room = min(PART, BLOCK)

  def append(self, at_ps: int, entry: Entry) -> None:
    self._times_ps.append(at_ps)
    self._entries.append(entry)
    if len(self._entries) == self._room:
      self._close_part()

  def _close_part(self) -> None:
    self._parts.append(Block.of(self._times_ps, self._entries))
    self._times_ps, self._entries = [], []
    left = BLOCK - _count(self._parts)
    if left <= 0:
      self._close_block()
      left = BLOCK
    self._room = min(PART, left)

  def _close_block(self) -> None:
    self._blocks.append(Block.joined(self._parts))
    self._parts = []

  @property
  def blocks(self) -> list[Block]:
    """All entries as columns."""
    if self._entries:
      self._close_part()
    if self._parts:
      self._close_block()
    return self._blocks

  def __len__(self) -> int:
    return len(self._entries) + _count(self._parts) + _count(self._blocks)

  @property
  def end_ps(self) -> int:
    """Time of the last entry."""
    blocks = self.blocks
    return int(blocks[-1].times_ps[-1]) if blocks else 0

  def __iter__(self) -> Iterator[tuple[int, Entry]]:
    return ((at_ps, entry) for _, at_ps, entry in self.noted(*ENTRIES))

  def noted(self, *kinds: type) -> Iterator[tuple[int, int, Any]]:
    """(place in the log, time, entry) of all entries of some kinds."""
    before = 0
    for block in self.blocks:
      for place, at_ps, made in block.entries(kinds):
        yield before + place, at_ps, made
      before += len(block.times_ps)

  def of(self, *kinds: type) -> list[Any]:
    """All entries of some kinds, in order."""
    return [entry for _, _, entry in self.noted(*kinds)]

  def commands(self) -> list[Entry]:
    return self.of(*COMMANDS)

  def columns(self, kind: type) -> dict[str, Any]:
    """Columns of all entries of a kind (`pdjax.eventcolumns`).

    Beside those of its fields: `place` in the log, and `written_ps`.
    """
    parts = [{
        **columns_of(kind, ()), "place": np.empty(0, np.int64),
        "written_ps": np.empty(0, np.int64),
    }]
    before = 0
    for times_ps, tables in self.blocks:
      if kind in tables:
        place, columns = tables[kind]
        extra = {"place": before + place, "written_ps": times_ps[place]}
        parts.append(columns | extra)
      before += len(times_ps)
    return {name: joined([p[name] for p in parts]) for name in parts[0]}
