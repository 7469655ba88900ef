"""A log as flat arrays: who arrived, what ran, who was in it, what else befell.

It sorts the entries and expands nothing; `pdjax.metrics.tokens` derives token
times from it. Requests are renumbered to rows (by id), runs to their order of
ending. `place` is a position in the log and orders what happens at one time.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from pdjax import events as ev
from pdjax.metrics.blocks import Blocks, Noted, read_blocks
from pdjax.metrics.moves import Moves, MovesRead
from pdjax.request import Request
from pdjax.segments import first_steps


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Runs:
  """Ended runs, in order of ending."""

  worker: np.ndarray
  steps: np.ndarray
  started_ps: np.ndarray
  start_place: np.ndarray
  """Place of the `Step` command."""
  end_place: np.ndarray
  token_ps: np.ndarray
  """End of every step of every run, run after run."""
  offset: np.ndarray
  """Where a run's steps begin in `token_ps`."""

  def __len__(self) -> int:
    return len(self.steps)

  @property
  def ended_ps(self) -> np.ndarray:
    """End of the last step of each run."""
    return self.token_ps[self.offset + self.steps - 1]


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Members:
  """A request's part in a run, sorted by (row, run)."""

  row: np.ndarray
  run: np.ndarray
  chunk_tokens: np.ndarray
  """Prompt tokens computed; 0 where it decodes."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Marks:
  """Points in the life of requests, in the log's order."""

  row: np.ndarray
  at_ps: np.ndarray
  place: np.ndarray
  flag: np.ndarray

  @classmethod
  def of(cls, points: Sequence[tuple[int, int, int, int]]) -> "Marks":
    columns = np.array(points, np.int64).reshape(-1, 4).T
    return cls(*columns)

  def __getitem__(self, keep: np.ndarray) -> "Marks":
    return Marks(
        self.row[keep], self.at_ps[keep], self.place[keep], self.flag[keep]
    )


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Journal:
  """Everything metrics need of a log."""

  requests: list[Request]
  """By id."""
  delivered_ps: np.ndarray
  runs: Runs
  members: Members
  finished_tokens: np.ndarray
  """Tokens a row made in its last run; -1 where it did not finish."""
  drops: Marks
  """Preemptions: the pages are gone."""
  blocks: Blocks
  moves: Moves
  reuses: Marks
  """Admissions that found a prefix cached; `flag` is its tokens."""
  transfer_starts: Marks
  transfer_ends: Marks
  """`flag` is 1 where the bytes arrived; paired with the starts. Transfers of
  one request that overlap count as one."""
  refusals: Marks
  """Rejected (`flag` 0), aborted (1), failed (2), or failed because its
  deadline had passed (3)."""
  end_ps: int
  """Time of the last entry."""


def read_journal(log: ev.Log) -> Journal:
  """Sorts a log into arrays."""
  arrivals = [entry for _, entry in log if isinstance(entry, ev.Arrived)]
  arrivals.sort(key=lambda arrived: arrived.request.id)
  row_of = {arrived.request.id: row for row, arrived in enumerate(arrivals)}
  steps: dict[int, tuple[int, ev.Step]] = {}
  ended: list[tuple[int, ev.StepEnded]] = []
  drops, reuses, refusals = [], [], []
  late: set[int] = set()
  lanes, moves = _TransferSpans(row_of), MovesRead()
  marks: list[Noted] = []
  at_ps = 0
  for place, (at_ps, entry) in enumerate(log):
    match entry:
      case ev.Step():
        steps[entry.run] = (place, entry)
      case ev.StepEnded():
        ended.append((place, entry))
      case ev.Transfer() | ev.TransferEnded():
        lanes.note(place, at_ps, entry)
        moves.note(at_ps, entry)
      case ev.TransferProgressed():
        moves.note(at_ps, entry)
      case ev.Blocked() | ev.Unblocked():
        marks.append((at_ps, place, entry))
      case ev.Deadline():
        late.add(entry.request)
      case ev.Preempt():
        drops.append((row_of[entry.request], at_ps, place, 0))
      case ev.Reserve(cached_tokens=tokens):
        if tokens:
          reuses.append((row_of[entry.request], at_ps, place, tokens))
      case ev.Reject() | ev.Abort() | ev.Fail():
        kind = (ev.Reject, ev.Abort, ev.Fail).index(type(entry))
        kind += isinstance(entry, ev.Fail) and entry.request in late
        refusals.append((row_of[entry.request], at_ps, place, kind))
  ran = [steps[end.run] for _, end in ended]
  return Journal(
      requests=[arrived.request for arrived in arrivals],
      delivered_ps=_ints(arrived.at_ps for arrived in arrivals),
      runs=_runs(ran, ended),
      members=_members([step for _, step in ran], row_of),
      finished_tokens=_finished(ended, row_of),
      drops=Marks.of(drops),
      blocks=read_blocks(marks, row_of, at_ps),
      moves=moves.made(at_ps),
      reuses=Marks.of(reuses),
      transfer_starts=Marks.of(lanes.starts),
      transfer_ends=Marks.of(lanes.ends),
      refusals=Marks.of(refusals),
      end_ps=at_ps,
  )


class _TransferSpans:
  """Pairs starts and ends; overlapping transfers of a request are one."""

  def __init__(self, row_of: dict[int, int]):
    self.starts: list[tuple[int, int, int, int]] = []
    self.ends: list[tuple[int, int, int, int]] = []
    self._row_of = row_of
    self._open: dict[int, tuple[int, tuple[int, int, int, int]]] = {}

  def note(
      self, place: int, at_ps: int, entry: ev.Transfer | ev.TransferEnded
  ) -> None:
    row = self._row_of[entry.request]
    flying, start = self._open.pop(row, (0, (row, at_ps, place, 0)))
    if isinstance(entry, ev.Transfer):
      self._open[row] = (flying + 1, start)
    elif flying > 1:
      self._open[row] = (flying - 1, start)
    else:
      self.starts.append(start)
      self.ends.append((row, at_ps, place, not entry.failure))


def _runs(
    ran: Sequence[tuple[int, ev.Step]],
    ended: Sequence[tuple[int, ev.StepEnded]],
) -> Runs:
  steps = _ints(end.steps for _, end in ended)
  started_ps = _ints(end.started_ps for _, end in ended)
  step_ps = _step_times([end for _, end in ended])
  clock = np.concatenate([[0], np.cumsum(step_ps)])
  offset = np.cumsum(steps) - steps
  return Runs(
      worker=_ints(end.worker for _, end in ended),
      steps=steps,
      started_ps=started_ps,
      start_place=_ints(place for place, _ in ran),
      end_place=_ints(place for place, _ in ended),
      token_ps=clock[1:] + np.repeat(started_ps - clock[offset], steps),
      offset=offset,
  )


def _step_times(ended: Iterable[ev.StepEnded]) -> np.ndarray:
  """Duration of every step of every run, run after run."""
  segments = [
      segment for end in ended
      for segment in first_steps(end.segments, end.steps)
  ]
  steps = _ints(segment.steps for segment in segments)
  first_ps = _ints(segment.first_ps for segment in segments)
  slope_ps = _ints(segment.slope_ps for segment in segments)
  within = np.arange(steps.sum()) - np.repeat(np.cumsum(steps) - steps, steps)
  return np.repeat(first_ps, steps) + np.repeat(slope_ps, steps) * within


def _members(steps: Sequence[ev.Step], row_of: dict[int, int]) -> Members:
  chunks = [pair for step in steps for pair in step.prefill]
  decodes = _ints(itertools.chain.from_iterable(s.decode for s in steps))
  request = np.concatenate([_ints(request for request, _ in chunks), decodes])
  run = np.concatenate([
      np.repeat(np.arange(len(steps)), _ints(len(s.prefill) for s in steps)),
      np.repeat(np.arange(len(steps)), _ints(len(s.decode) for s in steps)),
  ])
  chunk_tokens = np.zeros(len(request), np.int64)
  chunk_tokens[: len(chunks)] = [tokens for _, tokens in chunks]
  row = _rows(request, row_of)
  by_run = np.argsort(run, kind="stable")
  # Numpy sorts 16-bit keys by radix, several times faster than wider ones.
  narrow = row.astype(np.min_scalar_type(len(row_of)))
  order = by_run[np.argsort(narrow[by_run], kind="stable")]
  return Members(row[order], run[order], chunk_tokens[order])


def _rows(request: np.ndarray, row_of: dict[int, int]) -> np.ndarray:
  """Rows of many request ids."""
  table = np.zeros(max(row_of, default=0) + 1, np.int64)
  table[list(row_of)] = list(row_of.values())
  return table[request]


def _finished(
    ended: Iterable[tuple[int, ev.StepEnded]], row_of: dict[int, int]
) -> np.ndarray:
  tokens = np.full(len(row_of), -1, np.int64)
  for _, end in ended:
    for request, made in end.finished:
      tokens[row_of[request]] = made
  return tokens


def _ints(values: Iterable[int]) -> np.ndarray:
  return np.fromiter(values, np.int64)
