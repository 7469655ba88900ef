"""A log as flat arrays: who arrived, what ran, who was in it, what else befell.

It sorts the entries and expands nothing; `pdjax.metrics.tokens` derives token
times from it. Requests are renumbered to rows (by id), runs to their order of
ending. `place` is a position in the log and orders what happens at one time.

Units: `_ps` integer picoseconds, `_tokens` tokens.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from pdjax import events as ev
from pdjax.metrics.blocks import Blocks, read_blocks
from pdjax.metrics.cuts import batches
from pdjax.metrics.mishaps import Mishaps, read_mishaps
from pdjax.metrics.moves import Moves, read_moves

Columns = dict[str, Any]
"""Of all entries of a kind, as `Log.columns` gives them."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Requests:
  """What arrived, by id."""

  id: np.ndarray
  arrival_ps: np.ndarray
  prompt_tokens: np.ndarray
  max_tokens: np.ndarray
  delivered_ps: np.ndarray
  session: np.ndarray
  """The conversation each is a turn of; -1 where it stands alone."""

  def __len__(self) -> int:
    return len(self.id)

  def rows(self, ids: np.ndarray) -> np.ndarray:
    """Rows of many requests by their ids."""
    return np.searchsorted(self.id, ids)


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

  @classmethod
  def read(
      cls, columns: Columns, requests: Requests, flag: int | np.ndarray = 0
  ) -> "Marks":
    """All entries of a kind that names a request."""
    row = requests.rows(columns["request"])
    return cls(
        row, columns["written_ps"], columns["place"],
        np.broadcast_to(flag, row.shape),
    )

  def __getitem__(self, keep: np.ndarray) -> "Marks":
    return Marks(
        self.row[keep], self.at_ps[keep], self.place[keep], self.flag[keep]
    )


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Journal:
  """Everything metrics need of a log."""

  requests: Requests
  runs: Runs
  members: Members
  finished_tokens: np.ndarray
  """Tokens a row made in its last run; -1 where it did not finish."""
  drops: Marks
  """The pages are gone: by a preemption (`flag` 0) or a fault (1)."""
  blocks: Blocks
  moves: Moves
  mishaps: Mishaps
  reuses: Marks
  """Admissions that found a prefix cached; `flag` is its tokens."""
  hosted: Marks
  """Tokens that came back from host memory, `flag` of them."""
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
  requests = _requests(log.columns(ev.Arrived))
  ended, step = log.columns(ev.StepEnded), log.columns(ev.Step)
  order = np.argsort(step["run"], kind="stable")
  ran = order[np.searchsorted(step["run"][order], ended["run"])]
  starts, ends = _transfer_spans(log, requests)
  return Journal(
      requests=requests,
      runs=_runs(ended, step["place"][ran]),
      members=_members(step, ran, requests),
      finished_tokens=_finished(ended, requests),
      drops=_marks(
          Marks.read(log.columns(ev.Preempt), requests),
          Marks.read(log.columns(ev.Restart), requests, 1),
          Marks.read(log.columns(ev.Displaced), requests, 1),
      ),
      blocks=read_blocks(
          log.noted(ev.Blocked, ev.Unblocked), requests.rows, log.end_ps
      ),
      moves=read_moves(log),
      mishaps=read_mishaps(log),
      reuses=_found(log, requests, "cached_tokens"),
      hosted=_found(log, requests, "host_tokens"),
      transfer_starts=starts,
      transfer_ends=ends,
      refusals=_refusals(log, requests),
      end_ps=log.end_ps,
  )


def _requests(arrived: Columns) -> Requests:
  order = np.argsort(arrived["request"], kind="stable")
  return Requests(
      id=arrived["request"][order],
      arrival_ps=arrived["arrival_ps"][order],
      prompt_tokens=arrived["prompt_tokens"][order],
      max_tokens=arrived["max_tokens"][order],
      delivered_ps=arrived["at_ps"][order],
      session=np.array(
          [-1 if one is None else one for one in arrived["session"][order]],
          np.int64,
      ),
  )


def _found(log: ev.Log, requests: Requests, column: str) -> Marks:
  reserve = log.columns(ev.Reserve)
  tokens = reserve[column]
  return Marks.read(reserve, requests, tokens)[tokens > 0]


def _refusals(log: ev.Log, requests: Requests) -> Marks:
  rejected, aborted, failed = map(
      log.columns, (ev.Reject, ev.Abort, ev.Fail)
  )
  late = np.isin(failed["request"], log.columns(ev.Deadline)["request"])
  return _marks(
      Marks.read(rejected, requests), Marks.read(aborted, requests, 1),
      Marks.read(failed, requests, 2 + late),
  )


def _marks(*marks: Marks) -> Marks:
  """Marks of several kinds in the log's order."""
  each = [
      np.concatenate([getattr(mark, field.name) for mark in marks])
      for field in dataclasses.fields(Marks)
  ]
  together = Marks(*each)
  return together[np.argsort(together.place)]


def _transfer_spans(log: ev.Log, requests: Requests) -> tuple[Marks, Marks]:
  """Pairs starts and ends; overlapping transfers of a request are one."""
  begun, over = log.columns(ev.Transfer), log.columns(ev.TransferEnded)
  begun["written_ps"] = _begins_ps(log, begun)
  begins = Marks.read(begun, requests, -1)
  ends = Marks.read(over, requests, over["failure"] == "")
  points = np.concatenate([_points(begins), _points(ends)], axis=1)
  points = points[:, np.argsort(points[2])]
  pairs: list[tuple[tuple, tuple]] = []
  flying: dict[int, tuple[int, tuple]] = {}
  for point in zip(*points.tolist(), strict=True):
    row, at_ps, place, flag = point
    count, start = flying.pop(row, (0, (row, at_ps, place, 0)))
    if flag < 0:
      flying[row] = (count + 1, start)
    elif count > 1:
      flying[row] = (count - 1, start)
    else:
      pairs.append((start, point))
  return Marks.of([pair[0] for pair in pairs]), Marks.of(
      [pair[1] for pair in pairs]
  )


def _begins_ps(log: ev.Log, begun: Columns) -> np.ndarray:
  """When transfers start: layer by layer when the first layers are off."""
  begins_ps = begun["written_ps"]
  if not begun["group_layers"].any():
    return begins_ps
  moves = read_moves(log)
  layered = begun["group_layers"] > 0
  gathered_ps = np.maximum(moves.gathered_ns * 1000, begins_ps)
  return np.where(layered, gathered_ps, begins_ps)


def _points(marks: Marks) -> np.ndarray:
  return np.stack([marks.row, marks.at_ps, marks.place, marks.flag])


def _runs(ended: Columns, start_place: np.ndarray) -> Runs:
  steps, started_ps = ended["steps"], ended["started_ps"]
  return Runs(
      worker=ended["worker"],
      steps=steps,
      started_ps=started_ps,
      start_place=start_place,
      end_place=ended["place"],
      token_ps=_token_ps(ended),
      offset=np.cumsum(steps) - steps,
  )


def _token_ps(ended: Columns) -> np.ndarray:
  """End of every step of every run, run after run."""
  pieces = ended["segment_steps"]
  first_ps = ended["segment_first_ps"].flat
  slope_ps = ended["segment_slope_ps"].flat
  run, before = pieces.owner, np.cumsum(pieces.flat) - pieces.flat
  first_piece = (np.cumsum(pieces.lengths) - pieces.lengths)[run]
  # Steps of a run beyond those it took are none of its.
  left = ended["steps"][run] - (before - before[first_piece])
  steps = np.clip(left, 0, pieces.flat)
  took_ps = steps * first_ps + slope_ps * (steps * (steps - 1) // 2)
  begin_ps = np.cumsum(took_ps) - took_ps
  begin_ps += ended["started_ps"][run] - begin_ps[first_piece]
  token_ps = np.empty(steps.sum(), np.int64)
  for part, tokens in batches(steps):
    count = steps[part]
    step = np.arange(1, tokens.stop - tokens.start + 1)
    step -= np.repeat(np.cumsum(count) - count, count)
    at_ps = step * (step - 1) // 2
    at_ps *= np.repeat(slope_ps[part], count)
    step *= np.repeat(first_ps[part], count)
    at_ps += step
    at_ps += np.repeat(begin_ps[part], count)
    token_ps[tokens] = at_ps
  return token_ps


def _members(step: Columns, ran: np.ndarray, requests: Requests) -> Members:
  run_of = np.full(len(step["run"]), -1)
  run_of[ran] = np.arange(len(ran))
  chunks, decodes = step["prefill_request"], step["decode"]
  run = np.concatenate([run_of[chunks.owner], run_of[decodes.owner]])
  chunk_tokens = np.zeros(len(run), np.int64)
  chunk_tokens[: len(chunks.flat)] = step["prefill_tokens"].flat
  row = requests.rows(np.concatenate([chunks.flat, decodes.flat]))
  order = np.argsort(row * len(ran) + run)
  order = order[run[order] >= 0]
  return Members(row[order], run[order], chunk_tokens[order])


def _finished(ended: Columns, requests: Requests) -> np.ndarray:
  tokens = np.full(len(requests), -1, np.int64)
  finished = requests.rows(ended["finished_request"].flat)
  tokens[finished] = ended["finished_tokens"].flat
  return tokens
