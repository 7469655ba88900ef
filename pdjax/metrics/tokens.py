"""When every token was made, derived from runs and never stored.

All decodes of a run share its step times, so a token's time is a place in one
array and a request is a few stretches of it. Work follows requests and runs;
nothing here loops over tokens.

A *life* of a request begins when it arrives and anew at each preemption: with
its pages gone it prefills prompt and answer so far, and the end of that makes
its next token.

Units: `_ps` integer picoseconds, `_ns` integer nanoseconds (`ps // 1000`).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from pdjax.metrics.cuts import batches
from pdjax.metrics.journal import Journal, Marks
from pdjax.metrics.timed import Timed

_PLACES = 1 << 40
"""More than a log has entries: (row, place) in one integer."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Lives:
  """Per life, in order of (row, time)."""

  row: np.ndarray
  complete: np.ndarray
  """Whether its prefill was completed."""
  reused_tokens: np.ndarray
  """Tokens it found in a prefix cache."""
  cached_tokens: np.ndarray
  """Tokens in its pages, found or computed: what a preemption loses."""
  last_chunk: np.ndarray
  """Its last prefill member; -1 where it has none."""
  drop_keys: np.ndarray

  def of(self, marks: Marks) -> np.ndarray:
    """The life in which each mark lies."""
    return self.at(marks.row, marks.place)

  def at(self, row: np.ndarray, place: np.ndarray) -> np.ndarray:
    return _life_at(self.drop_keys, row, place)


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Tokens:
  """Stretches of tokens: `count` of them from `first` in `token_ns`.

  Sorted by (row, time). A prefill's token is a stretch of one.
  """

  token_ns: np.ndarray
  """End of every step of every run."""
  row: np.ndarray
  first: np.ndarray
  count: np.ndarray
  num_rows: int

  @property
  def starts_row(self) -> np.ndarray:
    """Marks the first stretch of each row that has one."""
    return np.diff(self.row, prepend=-1) != 0

  @property
  def output_tokens(self) -> np.ndarray:
    return _sum(self.row, self.count, self.num_rows)

  def only(self, keep_row: np.ndarray) -> "Tokens":
    """The tokens of some rows, which are numbered anew."""
    keep = keep_row[self.row]
    number = np.cumsum(keep_row) - 1
    return Tokens(
        self.token_ns, number[self.row[keep]], self.first[keep],
        self.count[keep], int(keep_row.sum()),
    )

  def made_between(self, begin_ns: int, end_ns: int) -> int:
    """Tokens made from `begin_ns` on and before `end_ns`."""
    inside = (begin_ns <= self.token_ns) & (self.token_ns < end_ns)
    if inside.all():
      return int(self.count.sum())
    before = np.concatenate([[0], np.cumsum(inside)])
    return int((before[self.first + self.count] - before[self.first]).sum())

  def first_token_ns(self) -> np.ma.MaskedArray:
    """Per row; masked where no token was made."""
    return self._per_row(self.starts_row, self.first)

  def second_token_ns(self) -> np.ma.MaskedArray:
    """Per row; masked under two tokens."""
    return self._per_row(self._second_stretch, self.first)

  def last_token_ns(self) -> np.ma.MaskedArray:
    last = np.diff(self.row, append=-1) != 0
    return self._per_row(last, self.first + self.count - 1)

  @property
  def _second_stretch(self) -> np.ndarray:
    # The first token of a row comes from a prefill, so it is alone.
    starts = self.starts_row
    return np.concatenate([[False], starts[:-1]])[: len(starts)] & ~starts

  def _per_row(
      self, stretches: np.ndarray, index: np.ndarray
  ) -> np.ma.MaskedArray:
    values = nulls(self.num_rows)
    values[self.row[stretches]] = self.token_ns[index[stretches]]
    return values

  def gaps(self, keep_row: np.ndarray, first: Timed) -> Timed:
    """Gaps of the rows to keep: `first` are those before the second token."""
    keep = keep_row[self.row]
    opening = keep & ~self.starts_row & ~self._second_stretch
    joined = Timed.of(
        self.token_ns[self.first[opening]], self._opening_gap_ns()[opening]
    )
    known = len(first.values) + len(joined.values)
    found = Timed.room(known + len(self.token_ns))
    size = found.put(found.put(0, first), joined)
    for stretches, tokens in self._batches(keep):
      size = found.put(size, self._inner_gaps(stretches, tokens))
    return found.first(size)

  def _inner_gaps(self, stretches: np.ndarray, tokens: slice) -> Timed:
    """Gaps inside some stretches, which lie in a range of tokens.

    What several stretches share is there once, counted for each.
    """
    first = self.first[stretches] - tokens.start
    size = tokens.stop - tokens.start + 1
    begins = np.bincount(first, minlength=size)
    ends = np.bincount(first + self.count[stretches], minlength=size)
    sharing = np.cumsum(begins - ends)[:-1] - begins[:-1]
    inner = np.flatnonzero(sharing)
    token_ns = self.token_ns[tokens]
    at_ns = token_ns[inner]
    return Timed(at_ns, at_ns - token_ns[inner - 1], sharing[inner])

  def _batches(self, keep: np.ndarray) -> Iterator[tuple[np.ndarray, slice]]:
    """Some stretches by place, in batches; with the tokens they lie among.

    Stretches of one run, which share tokens, are in one batch.
    """
    chosen = np.flatnonzero(keep)
    chosen = chosen[np.argsort(self.first[chosen], kind="stable")]
    first = self.first[chosen]
    runs = np.flatnonzero(np.diff(first, prepend=-1))
    ends = np.append(runs[1:], len(chosen))
    spans = np.diff(first[runs], append=len(self.token_ns))
    for part, tokens in batches(spans):
      yield chosen[runs[part.start] : ends[part.stop - 1]], slice(
          first[0] + tokens.start, first[0] + tokens.stop
      )

  def longest_later_gap_ns(self) -> np.ma.MaskedArray:
    """Per row, over gaps after the second token; masked where there is none.
    """
    longest = np.full(self.num_rows, -1, np.int64)
    inner = self.count > 1
    opening = ~self.starts_row & ~self._second_stretch
    for stretches, tokens in self._batches(inner):
      inner_ns = self._inner_max_ns(stretches, tokens)
      np.maximum.at(longest, self.row[stretches], inner_ns)
    np.maximum.at(longest, self.row[opening], self._opening_gap_ns()[opening])
    return np.ma.masked_array(longest, longest < 0)

  def _opening_gap_ns(self) -> np.ndarray:
    """From the previous stretch's last token to each one's first."""
    before = np.roll(self.first + self.count - 1, 1)
    return self.token_ns[self.first] - self.token_ns[before]

  def _inner_max_ns(self, stretches: np.ndarray, tokens: slice) -> np.ndarray:
    """Longest gap inside each stretch of at least two tokens.

    They are in order of their places, so reduceat never spans far between
    them.
    """
    # Entry i is the gap that ends with token i.
    gap_ns = np.append(np.diff(self.token_ns[tokens], prepend=0), 0)
    first = self.first[stretches] - tokens.start
    bounds = np.stack([first + 1, first + self.count[stretches]], axis=1)
    return np.maximum.reduceat(gap_ns, bounds.ravel())[::2]


def nulls(rows: int) -> np.ma.MaskedArray:
  """A column of nulls to be filled."""
  return np.ma.masked_array(np.zeros(rows, np.int64), mask=True)


def read_lives(journal: Journal) -> Lives:
  """Follows every request from prefill to prefill."""
  drops, members = journal.drops, journal.members
  num_rows = len(journal.requests)
  keys = np.sort(drops.row * _PLACES + drops.place)
  row = np.sort(np.concatenate([np.arange(num_rows), drops.row]))
  place = journal.runs.start_place[members.run]
  life = _life_at(keys, members.row, place)
  is_chunk = members.chunk_tokens > 0
  made = np.where(is_chunk, 0, _made(journal))
  chunk_tokens = _sum(life, members.chunk_tokens, len(row))
  reuses = journal.reuses
  reused = _life_at(keys, reuses.row, reuses.place)
  reused_tokens = _sum(reused, reuses.flag, len(row))
  filled_tokens = reused_tokens + chunk_tokens
  last_chunk = np.full(len(row), -1, np.int64)
  last_chunk[life[is_chunk]] = np.flatnonzero(is_chunk)
  steps = np.where(is_chunk, 0, journal.runs.steps[members.run])
  return Lives(
      row,
      _complete(journal, row, filled_tokens, _sum(life, made, len(row))),
      reused_tokens,
      filled_tokens + _sum(life, steps, len(row)),
      last_chunk,
      keys,
  )


def _life_at(
    drop_keys: np.ndarray, row: np.ndarray, place: np.ndarray
) -> np.ndarray:
  # Lives before a row's own: one per earlier row, one per earlier drop.
  return row + np.searchsorted(drop_keys, row * _PLACES + place)


def _made(journal: Journal) -> np.ndarray:
  """Tokens each member makes if it decodes: fewer only where it finishes."""
  members = journal.members
  made = journal.runs.steps[members.run].copy()
  last = np.flatnonzero(np.diff(members.row, append=-1))
  tokens = journal.finished_tokens[members.row[last]]
  made[last] = np.where(tokens >= 0, tokens, made[last])
  return made


def _complete(
    journal: Journal,
    row: np.ndarray,
    filled_tokens: np.ndarray,
    decoded_tokens: np.ndarray,
) -> np.ndarray:
  """Whether a life's pages reach the prompt and the answer before it."""
  goal = journal.requests.prompt_tokens.copy()
  complete = np.zeros(len(row), bool)
  lives = np.searchsorted(row, np.arange(len(goal)))
  ends = np.searchsorted(row, np.arange(len(goal)), side="right")
  while len(lives):
    complete[lives] = filled_tokens[lives] == goal[row[lives]]
    goal[row[lives]] += complete[lives] + decoded_tokens[lives]
    again = lives + 1 < ends
    lives, ends = lives[again] + 1, ends[again]
  return complete


def read_tokens(journal: Journal, lives: Lives) -> Tokens:
  """Token times of every request."""
  members, runs = journal.members, journal.runs
  made = np.where(members.chunk_tokens > 0, 0, _made(journal))
  made[lives.last_chunk[lives.complete]] = 1
  keep = made > 0
  return Tokens(
      runs.token_ps // 1000,
      members.row[keep],
      runs.offset[members.run[keep]],
      made[keep],
      len(journal.requests),
  )


def _sum(index: np.ndarray, values: np.ndarray, size: int) -> np.ndarray:
  """Sums by index; float64 holds these counts exactly."""
  return np.bincount(index, values, size).astype(np.int64)
