"""What each worker and each link did, and when: the log as spans.

A span of a worker is a run of steps, one of a link is a transfer with its
stages. A request's way from the step that completed its prompt to the first
decode run on another worker is a hand-off.

Units: `_ns` integer nanoseconds from the start of the run.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from pdjax import events as ev
from pdjax import tracks
from pdjax.segments import elapsed_ps


@dataclasses.dataclass(frozen=True, slots=True)
class Ran:
  """A run of steps on one lane of a worker."""

  run: int
  worker: int
  lane: int
  begin_ns: int
  end_ns: int
  steps: int
  prefill: tuple[tuple[int, int], ...]
  """(request, prompt tokens) of each chunk."""
  decode: tuple[int, ...]

  @property
  def kind(self) -> str:
    """`prefill`, `decode`, or `mixed` where prompts ride along."""
    return tracks.of_steps(
        prefill=bool(self.prefill), decode=bool(self.decode)
    )

  @property
  def prefill_tokens(self) -> int:
    return sum(tokens for _, tokens in self.prefill)


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
  """A transfer between two workers."""

  transfer: int
  request: int
  source: int
  target: int
  begin_ns: int
  gathered_ns: int | None
  """Off the source's pages; None where the log has no such stage."""
  sent_ns: int | None
  end_ns: int
  moved_bytes: int
  failure: str
  group_layers: int = 0
  """Layers that left at a time, while the next were computed: its span and its
  time on the link hold that computing too. 0: all at once."""


@dataclasses.dataclass(frozen=True, slots=True)
class Absence:
  """A worker was lost until it came back, or to the end."""

  worker: int
  begin_ns: int
  end_ns: int


@dataclasses.dataclass(frozen=True, slots=True)
class Handoff:
  """A moved request: places in `Activity.ran` and `Activity.moved`."""

  request: int
  prefill: int
  """The run with its last chunk before the transfer."""
  move: int
  decode: int
  """The first run that decoded it at the target."""


@dataclasses.dataclass(frozen=True, slots=True)
class Activity:
  """Everything that took time, in order of ending."""

  names: tuple[str, ...]
  """Of the workers: role and number, such as `P0`."""
  ran: tuple[Ran, ...]
  moved: tuple[Moved, ...]
  handoffs: tuple[Handoff, ...]
  end_ns: int
  absences: tuple[Absence, ...] = ()

  @property
  def links(self) -> list[tuple[int, int]]:
    """(source, target) of all transfers, each once."""
    return sorted({(move.source, move.target) for move in self.moved})

  def link_track(self, link: tuple[int, int]) -> str:
    source, target = link
    return tracks.of_link(self.names[source], self.names[target])


def activity_of(log: ev.Log, names: Sequence[str]) -> Activity:
  """Reads a log once. What had not ended with it is left out."""
  reader = _Reader()
  at_ps = 0
  for at_ps, entry in log:
    reader.note(at_ps, entry)
  return Activity(
      tuple(names), tuple(reader.ran), tuple(reader.moved),
      tuple(reader.handoffs), at_ps // 1000,
      tuple(reader.absences(at_ps // 1000)),
  )


class _Reader:
  """Pairs beginnings with ends."""

  def __init__(self):
    self.ran: list[Ran] = []
    self.moved: list[Moved] = []
    self.handoffs: list[Handoff] = []
    self._lost: list[list[int | None]] = []
    self._steps: dict[int, ev.Step] = {}
    self._moves: dict[int, tuple[int, ev.Transfer]] = {}
    self._stages: dict[tuple[int, str], int] = {}
    self._prefilled: dict[int, int] = {}
    self._landed: dict[int, int] = {}

  def note(self, at_ps: int, entry: ev.Entry) -> None:
    match entry:
      case ev.Step():
        self._steps[entry.run] = entry
      case ev.StepEnded():
        self._end_run(entry)
      case ev.Transfer():
        self._moves[entry.transfer] = (at_ps // 1000, entry)
      case ev.TransferProgressed():
        self._stages[entry.transfer, entry.stage] = entry.at_ps // 1000
      case ev.TransferEnded():
        self._end_move(entry)
      case ev.WorkerLost():
        self._lost.append([entry.worker, at_ps // 1000, None])
      case ev.WorkerBack():
        for loss in self._lost:
          if loss[0] == entry.worker and loss[2] is None:
            loss[2] = at_ps // 1000
      case _:
        pass

  def absences(self, end_ns: int) -> Iterator[Absence]:
    for worker, begin_ns, back_ns in self._lost:
      assert worker is not None and begin_ns is not None
      yield Absence(
          worker, begin_ns, end_ns if back_ns is None else back_ns
      )

  def _end_run(self, end: ev.StepEnded) -> None:
    step = self._steps.pop(end.run)
    place = len(self.ran)
    # The scheduler may learn of the end when the next run is under way.
    last_ps = end.started_ps + elapsed_ps(end.segments, end.steps)
    self.ran.append(Ran(
        end.run, end.worker, end.lane, end.started_ps // 1000,
        last_ps // 1000, end.steps, step.prefill, step.decode,
    ))
    for request, _ in step.prefill:
      self._prefilled[request] = place
    for request in step.decode:
      if request in self._landed:
        move = self._landed.pop(request)
        first = self._prefilled.get(request)
        if first is not None:
          self.handoffs.append(Handoff(request, first, move, place))

  def _end_move(self, end: ev.TransferEnded) -> None:
    begin_ns, told = self._moves.pop(end.transfer)
    if not end.failure:
      self._landed[end.request] = len(self.moved)
    self.moved.append(Moved(
        end.transfer, end.request, told.source, told.target, begin_ns,
        self._stages.pop((end.transfer, "gathered"), None),
        self._stages.pop((end.transfer, "sent"), None),
        end.at_ps // 1000, end.moved_bytes, end.failure, told.group_layers,
    ))
