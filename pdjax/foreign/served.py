"""A finished run as other tools' files are made of it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from pdjax import config
from pdjax.metrics.requests import RequestTable


@dataclasses.dataclass(frozen=True, kw_only=True)
class Served:
  """One run; other tools know measured requests only."""

  label: str
  run: config.Run
  summary: Mapping[str, Any]
  table: RequestTable
  """The measured requests."""
  started: str | None = None
  """When it did, in ISO format."""

  @property
  def unfinished(self) -> int:
    """Requests that other tools count as errors."""
    return self.summary["sent"] - self.summary["completed"]


def gaps_ns(table: RequestTable) -> tuple[np.ndarray, np.ndarray]:
  """Every gap between tokens, request by request in order of time.

  The first gap is from when the first token is out, under the table's anchor.

  Returns:
    All gaps in integer nanoseconds, and how many each request of the table has;
    a request that did not finish has none.
  """
  tokens, finished = table.tokens, table.finished
  keep = finished[tokens.row]
  count, row = tokens.count[keep], tokens.row[keep]
  within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
  at_ns = tokens.token_ns[np.repeat(tokens.first[keep], count) + within]
  of = np.repeat(row, count)
  begins = np.diff(of, prepend=-1) != 0
  at_ns[begins] = np.ma.getdata(table["first_token_ns"])[of[begins]]
  later = ~begins
  gaps = np.diff(at_ns, prepend=0)[later]
  return gaps, np.bincount(of[later], minlength=len(table))
