"""Transfers one by one: from where, to where, when in flight and on the link.

Units: `_ns` integer nanoseconds, `_bytes` bytes.
"""

import dataclasses
from typing import Any

import numpy as np

from pdjax.events import (
  Log,
  Reserve,
  Transfer,
  TransferEnded,
  TransferProgressed,
)
from pdjax.metrics.spans import Spans


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Moves:
  """A transfer each, in order of start."""

  request: np.ndarray
  source: np.ndarray
  target: np.ndarray
  begin_ns: np.ndarray
  gathered_ns: np.ndarray
  """Off the source's pages; the start where the log has no such stage."""
  sent_ns: np.ndarray
  """Over the link; the end where the log has no such stage."""
  end_ns: np.ndarray
  whole_ns: np.ndarray
  """The end of the last transfer of the same request: until then its source
  keeps all pages."""
  moved_bytes: np.ndarray
  """What arrived; 0 of a transfer that failed or never ended."""
  pages: np.ndarray
  """That arrived, likewise."""
  spared_tokens: np.ndarray
  """Of the same hand-off, those that the target had already."""

  def __len__(self) -> int:
    return len(self.source)

  def inbound(self) -> Spans:
    """Spans with pages in flight to a worker."""
    return Spans.of(self.target, self.begin_ns, self.end_ns)

  def on_links(self) -> tuple[Spans, Spans]:
    """Spans in which each worker's way out, and its way in, carries bytes."""
    return (
        Spans.of(self.source, self.gathered_ns, self.sent_ns),
        Spans.of(self.target, self.gathered_ns, self.sent_ns),
    )

  def most_bytes(
      self,
      begin_ns: np.ndarray,
      end_ns: np.ndarray,
      which: np.ndarray | slice = slice(None),
  ) -> int:
    """The most bytes of some between two points of each at one time."""
    at_ns = np.concatenate([end_ns[which], begin_ns[which]])
    moved_bytes = self.moved_bytes[which]
    change = np.concatenate([-moved_bytes, moved_bytes])
    # Stable, ends first: what ends and what begins at once never add up.
    running = np.cumsum(change[np.argsort(at_ns, kind="stable")])
    return int(running.max(initial=0))

  def staging_peak_bytes(self) -> int:
    """The most of one source off its pages and not in those of a target."""
    return max(
        (
            self.most_bytes(self.gathered_ns, self.end_ns, self.source == one)
            for one in np.unique(self.source)
        ),
        default=0,
    )


def read_moves(log: Log) -> Moves:
  """All transfers of a log; those in flight last until its end."""
  begun, over = log.columns(Transfer), log.columns(TransferEnded)
  passed = log.columns(TransferProgressed)
  begin_ns = begun["written_ps"] // 1000
  gathered_ns, moved_bytes = begin_ns.copy(), np.zeros_like(begin_ns)
  sent_ns, end_ns = np.full((2, len(begin_ns)), -1)
  gathered = passed["stage"] == "gathered"
  for reached_ns, which in ((gathered_ns, gathered), (sent_ns, ~gathered)):
    move = _which(begun["transfer"], passed["transfer"][which])
    reached_ns[move] = passed["written_ps"][which] // 1000
  move = _which(begun["transfer"], over["transfer"])
  end_ns[move] = over["written_ps"] // 1000
  moved_bytes[move] = np.where(over["failure"] == "", over["moved_bytes"], 0)
  pages = np.where(moved_bytes, begun["end_page"] - begun["first_page"], 0)
  end_ns[end_ns < 0] = log.end_ps // 1000
  sent_ns = np.where(sent_ns < 0, end_ns, sent_ns)
  requests, request = np.unique(begun["request"], return_inverse=True)
  last_ns = np.zeros(len(requests), np.int64)
  np.maximum.at(last_ns, request, end_ns)
  return Moves(
      begun["request"], begun["source"], begun["target"], begin_ns,
      gathered_ns, sent_ns, end_ns,
      last_ns[request], moved_bytes, pages,
      _spared_tokens(log, begun),
  )


def _spared_tokens(log: Log, begun: dict[str, Any]) -> np.ndarray:
  """What each target had when it last kept a place for the request."""
  kept = log.columns(Reserve)
  keys = _at_worker(kept, kept["worker"])
  order = np.argsort(keys)
  # A first key of nobody: without a place kept there is nothing spared.
  keys = np.append(-_PLACES, keys[order])
  spared_tokens = np.append(0, kept["spared_tokens"][order])
  wanted = _at_worker(begun, begun["target"])
  at = np.searchsorted(keys, wanted) - 1
  same = keys[at] // _PLACES == wanted // _PLACES
  return np.where(same, spared_tokens[at], 0)


_PLACES = 1 << 32
"""More than a log has entries."""


def _at_worker(columns: dict[str, Any], worker: np.ndarray) -> np.ndarray:
  """One integer in the order of request, worker and place."""
  return (columns["request"] << 10 | worker) * _PLACES + columns["place"]


def _which(started: np.ndarray, transfer: np.ndarray) -> np.ndarray:
  """Places among those started of transfers by their numbers."""
  order = np.argsort(started)
  return order[np.searchsorted(started[order], transfer)]
