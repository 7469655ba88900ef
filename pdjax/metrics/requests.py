"""From the log to one row a request.

Nothing is measured here: every column follows from the log. docs/metrics.md
defines each; columns that may be null are masked arrays.

Units: `_ns` integer nanoseconds from the start of the run for points, and
between two points for durations; `_tokens` tokens.
"""

import dataclasses
import functools
import os
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pdjax import config
from pdjax.events import Log
from pdjax.metrics.anchors import ANCHOR_OF, Column, anchored
from pdjax.metrics.attribution import Attribution, attribution
from pdjax.metrics.breakdown import breakdown, prefill_ends
from pdjax.metrics.interference import interference_ns
from pdjax.metrics.journal import Journal, read_journal
from pdjax.metrics.reuse import reuse
from pdjax.metrics.steps import StepTotals, step_totals
from pdjax.metrics.timed import Timed
from pdjax.metrics.tokens import Lives, Tokens, nulls, read_lives, read_tokens
from pdjax.metrics.waits import WAITS, waits
from pdjax.metrics.weighted import Weighted
from pdjax.window import Window, window_of

REFUSALS = np.array(["rejected", "aborted", "failed", "late"])
STATES = ("finished", "rejected", "aborted", "late", "failed", "unfinished")


@dataclasses.dataclass(frozen=True, eq=False)
class RequestTable:
  """All requests that arrived, in order of id, under one anchor."""

  columns: dict[str, Column]
  workers: list[tuple[int, ...]]
  """Where each computed, in order, without immediate repeats."""
  anchor: str
  tokens: Tokens
  steps: StepTotals
  attribution: Attribution
  journal: Journal
  end_ns: int
  """Time of the log's last entry."""
  window: Window | None = None
  """What is measured; None: all of it."""

  def __len__(self) -> int:
    return len(self.columns["request"])

  def __getitem__(self, name: str) -> Column:
    return self.columns[name]

  @functools.cached_property
  def finished(self) -> np.ndarray:
    return self.columns["state"] == "finished"

  @property
  def wanted(self) -> np.ndarray:
    """Which requests their clients did not give up: what an SLO counts."""
    return self.columns["state"] != "aborted"

  def sample(self, metric: str) -> Weighted:
    """A metric of all finished requests, in nanoseconds.

    `itl` pools every gap of every request; others count a request once, and
    leave out those for which they are null.
    """
    if metric == "itl":
      return self.gaps.weighted
    return Weighted.of(self[f"{metric}_ns"][self.finished])

  def measured(self) -> "RequestTable":
    """Without the requests before and after the window."""
    keep = self["measured"]
    if keep.all():
      return self
    columns = {name: column[keep] for name, column in self.columns.items()}
    return dataclasses.replace(
        self,
        columns=columns,
        workers=[w for w, kept in zip(self.workers, keep, strict=True) if kept],
        tokens=self.tokens.only(keep),
    )

  @functools.cached_property
  def gaps(self) -> Timed:
    """Every gap of every finished request, at its end, in nanoseconds."""
    done = self.finished
    first = Timed.of(self["first_decode_ns"][done], self["itl_first_ns"][done])
    return self.tokens.gaps(done, first)

  def under(self, anchor: str) -> "RequestTable":
    """The same requests with the first token released at another anchor."""
    columns = self.columns | anchored(self.columns, anchor)
    return dataclasses.replace(self, columns=columns, anchor=anchor)


def request_table(
    log: Log,
    first_token: str = "at_prefill",
    window: Window | None = None,
    roles: Sequence[str] | None = None,
) -> RequestTable:
  """Derives every request's row.

  Args:
    log: of a whole run, or of a run that was cut short.
    first_token: `strategy.first_token`, which picks the anchor.
    window: requests that arrived in it are the measured ones.
    roles: of all workers; None: those the log names are alike.
  """
  journal = read_journal(log)
  lives = read_lives(journal)
  tokens = read_tokens(journal, lives)
  columns = _basic(journal, lives, tokens, window)
  columns |= _times(journal, lives, tokens, columns["state"])
  anchor = ANCHOR_OF[first_token]
  columns |= anchored(columns, anchor)
  return RequestTable(
      columns={name: columns[name] for name in _ORDER},
      workers=_workers(journal),
      anchor=anchor,
      tokens=tokens,
      steps=step_totals(journal, window),
      attribution=attribution(
          journal, *span_ns(columns, journal.end_ps // 1000, window),
          roles,
      ),
      journal=journal,
      end_ns=journal.end_ps // 1000,
      window=window,
  )


def table_of(log: Log, run: config.Run) -> RequestTable:
  """Every request's row, under the anchor and with the window of a config."""
  return request_table(
      log,
      run.strategy.first_token or "at_prefill",
      window_of(run.workload),
      config.roles_of(run),
  )


def span_ns(
    columns: Mapping[str, Column], end_ns: int, window: Window | None
) -> tuple[int, int]:
  """What rates and shares are of: the window, or else the makespan.

  That is from the first intended arrival until the last request ended; with
  requests left unfinished, until the log's last entry, `end_ns`.
  """
  if window:
    return window.begin_ns, window.end_ns
  ended_ns, arrival_ns = columns["ended_ns"], columns["arrival_ns"]
  if not len(arrival_ns):
    return 0, 0
  if not np.ma.getmaskarray(ended_ns).any():
    end_ns = int(ended_ns.max())
  begin_ns = int(arrival_ns.min())
  return begin_ns, max(begin_ns, end_ns)


def write_requests(table: RequestTable, path: str | os.PathLike) -> None:
  """Writes `requests.parquet`; nulls stay nulls."""
  import pyarrow as pa
  import pyarrow.parquet as pq

  columns = {
      name: pa.array(
          np.ma.getdata(column),
          mask=np.ma.getmaskarray(column),
          from_pandas=False,
      )
      for name, column in table.columns.items()
  }
  columns["workers"] = pa.array(table.workers, pa.list_(pa.int32()))
  metadata = {"pdjax.requests": "1", "pdjax.anchor": table.anchor}
  written = pa.table(columns).replace_schema_metadata(metadata)
  pq.write_table(written, path, compression="zstd")


def _basic(
    journal: Journal, lives: Lives, tokens: Tokens, window: Window | None
) -> dict[str, Column]:
  """What needs no time."""
  requests, rows = journal.requests, len(journal.requests)
  first = np.searchsorted(lives.row, np.arange(rows))
  return {
      "request": requests.id,
      "state": _states(journal),
      "measured": (
          window.holds(requests.arrival_ps) if window else np.ones(rows, bool)
      ),
      "prompt_tokens": requests.prompt_tokens,
      "max_tokens": requests.max_tokens,
      "output_tokens": tokens.output_tokens,
      "preemptions": _drops(journal, 0),
      "restarts": _drops(journal, 1),
      "recomputed_tokens": _recomputed(lives, rows),
      **reuse(journal, tokens.output_tokens, lives.reused_tokens[first]),
      "prefilled_tokens": np.bincount(
          journal.members.row, journal.members.chunk_tokens, rows
      ).astype(np.int64),
  }


def _drops(journal: Journal, flag: int) -> np.ndarray:
  """How often a request's pages were taken, or lost to a fault."""
  drops = journal.drops
  return np.bincount(
      drops.row[drops.flag == flag], minlength=len(journal.requests)
  )


def _recomputed(lives: Lives, rows: int) -> np.ndarray:
  """Tokens whose pages were lost and that no prefix cache had afterwards."""
  again = np.flatnonzero(np.diff(lives.row) == 0)
  lost = lives.cached_tokens[again]
  lost -= np.minimum(lost, lives.reused_tokens[again + 1])
  return np.bincount(lives.row[again], lost, rows).astype(np.int64)


def _states(journal: Journal) -> np.ndarray:
  states = np.full(len(journal.requests), "unfinished", "<U10")
  refused = journal.refusals
  states[refused.row] = REFUSALS[refused.flag]
  states[journal.finished_tokens >= 0] = "finished"
  return states


def _times(
    journal: Journal, lives: Lives, tokens: Tokens, state: np.ndarray
) -> dict[str, Column]:
  """Points in time and what no anchor moves."""
  arrival_ns = journal.requests.arrival_ps // 1000
  delivered_ns = journal.requests.delivered_ps // 1000
  first_ns, second_ns = tokens.first_token_ns(), tokens.second_token_ns()
  last_ns = _where(state == "finished", tokens.last_token_ns())
  parts, hidden_ns = breakdown(journal, lives, last_ns)
  missing = np.ma.getmaskarray(last_ns)
  return {
      "arrival_ns": arrival_ns,
      "delivered_ns": delivered_ns,
      "lag_ns": delivered_ns - arrival_ns,
      "prefill_sampled_ns": first_ns,
      "kv_landed_ns": _landed(journal, lives, tokens, state),
      "first_decode_ns": second_ns,
      "ttst_ns": second_ns - arrival_ns,
      "itl_later_max_ns": tokens.longest_later_gap_ns(),
      "e2el_ns": last_ns - arrival_ns,
      "ended_ns": _ended(journal, tokens, last_ns),
      **{f"{part}_ns": values for part, values in parts.items()},
      "hidden_transfer_ns": hidden_ns,
      **{f"{name}_ns": ns for name, ns in _waits(journal, lives, parts)},
      "interference_ns": np.ma.masked_array(interference_ns(journal), missing),
  }


def _waits(
    journal: Journal, lives: Lives, parts: dict[str, np.ma.MaskedArray]
) -> Iterable[tuple[str, np.ma.MaskedArray]]:
  blocks = journal.blocks
  _, done_place = prefill_ends(journal, lives)
  done = done_place[lives.at(blocks.row, blocks.place)] <= blocks.place
  return waits(journal, done, parts).items()


def _where(keep: np.ndarray, values: np.ma.MaskedArray) -> np.ma.MaskedArray:
  return np.ma.masked_array(values, np.ma.getmaskarray(values) | ~keep)


def _landed(
    journal: Journal, lives: Lives, tokens: Tokens, state: np.ndarray
) -> np.ma.MaskedArray:
  """When the first life's cache, prefill complete, was whole elsewhere.

  A request preempted before its first token may be handed off in a later life;
  the one whose prefill made the first token counts. Where that token was the
  last, pages may have moved, but nothing was handed off.
  """
  landed_ns = nulls(len(journal.requests))
  ends = journal.transfer_ends
  life = lives.of(ends)
  whole = np.flatnonzero(lives.complete)
  _, first = np.unique(lives.row[whole], return_index=True)
  counts = np.isin(life, whole[first]) & (ends.flag > 0)
  counts &= (tokens.output_tokens > 1)[ends.row] | (
      (state != "finished")[ends.row]
      & (ends.place > prefill_ends(journal, lives)[1][life])
  )
  landed_ns[ends.row[counts]] = ends.at_ps[counts] // 1000
  return landed_ns


def _ended(
    journal: Journal, tokens: Tokens, last_ns: np.ma.MaskedArray
) -> np.ma.MaskedArray:
  """End of a request's life, however it ended."""
  ended_ns = last_ns.copy()
  refused = journal.refusals[
      np.ma.getmaskarray(last_ns)[journal.refusals.row]
  ]
  made_ns = np.ma.filled(tokens.last_token_ns(), 0)[refused.row]
  ended_ns[refused.row] = np.maximum(refused.at_ps // 1000, made_ns)
  return ended_ns


def _workers(journal: Journal) -> list[tuple[int, ...]]:
  members = journal.members
  worker = journal.runs.worker[members.run]
  moves = (np.diff(members.row, prepend=-1) != 0) | (
      np.diff(worker, prepend=-1) != 0
  )
  row, worker = members.row[moves], worker[moves].tolist()
  ends = np.searchsorted(row, np.arange(len(journal.requests)), side="right")
  begins = [0, *ends[:-1].tolist()]
  return [
      tuple(worker[begin:end])
      for begin, end in zip(begins, ends.tolist(), strict=False)
  ]


_ORDER = (
    "request", "state", "measured", "prompt_tokens", "max_tokens",
    "output_tokens", "arrival_ns", "delivered_ns", "lag_ns",
    "prefill_sampled_ns", "kv_landed_ns", "first_decode_ns", "first_token_ns",
    "ended_ns", "ttft_ns", "ttft_prefill_sampled_ns", "ttft_kv_landed_ns",
    "ttft_first_decode_ns", "ttst_ns", "itl_first_ns", "itl_max_ns",
    "itl_later_max_ns", "tpot_ns", "e2el_ns", "queue_prefill_ns", "prefill_ns",
    "transfer_wait_ns", "transfer_ns", "queue_decode_ns", "decode_ns",
    "preempted_ns", "hidden_transfer_ns", *(f"{name}_ns" for name in WAITS),
    "interference_ns", "preemptions", "restarts", "recomputed_tokens",
    "prefilled_tokens", "reused_tokens", "spared_tokens", "host_tokens",
    "repeated_tokens", "session", "turn",
)
"""Columns of a table and of `requests.parquet`, which adds `workers`."""
