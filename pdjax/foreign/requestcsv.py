"""Reads a CSV of request times, one request a row, whoever wrote it.

Columns are known by name; the end of a name is its unit, `_s`, `_ms`, `_us` or
`_ns`. Which names: `NAMES`; others are left alone. A TTFT is needed, as such or
as the time of the first token and of sending.
"""

import csv
import io

import numpy as np

from pdjax.foreign.observed import MOST, Observed, Requests

_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}

NAMES = {
    "ttft": ("ttft",),
    "tpot": ("tpot", "itl_mean"),
    "e2el": ("e2el", "e2e", "latency", "request_latency"),
    "intended": ("arrival", "arrival_workload", "intended_arrival"),
    "sent": ("delivered", "sent", "start", "arrival_actual", "queued"),
    "first": ("first_token",),
    "last": ("last_token", "ended"),
}
"""Our word -> names of its column without the unit, the first that is there."""
_COUNTS = {
    "prompt": ("prompt_tokens", "input_tokens", "input_len", "input"),
    "output": ("output_tokens", "output_len", "output"),
}
_NEEDS = (
    "expected a column ttft_ms (or ttft_s, or first_token_s and arrival_s)"
)


def read(text: str, source: str) -> Observed:
  """What the rows say.

  Raises:
    ValueError: no time to first token, or a cell that is no number.
  """
  rows = list(csv.DictReader(io.StringIO(text)))
  if not rows:
    raise ValueError("no rows")
  table = _Table(rows)
  intended, sent = table.seconds("intended"), table.seconds("sent")
  from_s = sent if intended is None else intended
  first, last = table.seconds("first"), table.seconds("last")
  ttft = table.seconds("ttft")
  if ttft is None and first is not None and from_s is not None:
    ttft = first - from_s
  if ttft is None:
    raise ValueError(_NEEDS)
  e2el = table.seconds("e2el")
  if e2el is None and last is not None and from_s is not None:
    e2el = last - from_s
  tpot = table.seconds("tpot")
  output = table.counts("output")
  if tpot is None and e2el is not None and output is not None:
    tpot = np.where(output > 1, (e2el - ttft) / np.maximum(output - 1, 1), 0)
  lag = None if intended is None or sent is None else sent - intended
  whole = np.isfinite(ttft)
  if not whole.any():
    raise ValueError("no row has a time to first token")

  def kept(column: np.ndarray | None, scale: float) -> np.ndarray | None:
    return None if column is None else scale * column[whole]

  ttft_ms = 1000 * ttft[whole]
  return Observed(
      source=f"{source}: request times",
      completed=int(whole.sum()),
      failed=int((~whole).sum()),
      requests=Requests(
          ttft_ms=ttft_ms,
          start_s=kept(from_s, 1.0),
          lag_ms=kept(lag, 1000.0),
          tpot_ms=kept(tpot, 1000.0),
          e2el_ms=kept(e2el, 1000.0),
          prompt_tokens=kept(table.counts("prompt"), 1.0),
      ),
  )


class _Table:
  """Columns of a CSV by our words; an empty cell is nan."""

  def __init__(self, rows: list[dict[str, str]]):
    self._rows = rows
    self._names = [name for name in rows[0] if name]

  def seconds(self, word: str) -> np.ndarray | None:
    for stem in NAMES[word]:
      for unit, scale in _UNITS_S.items():
        if (name := f"{stem}_{unit}") in self._names:
          return scale * self._numbers(name)
    return None

  def counts(self, word: str) -> np.ndarray | None:
    for name in _COUNTS[word]:
      if name in self._names:
        return self._numbers(name)
    return None

  def _numbers(self, name: str) -> np.ndarray:
    values = []
    for number, row in enumerate(self._rows, 2):
      text = (row.get(name) or "").strip()
      try:
        value = float(text) if text else np.nan
        if MOST < abs(value) < np.inf:
          raise ValueError(text)
        values.append(np.nan if np.isinf(value) else value)
      except ValueError:
        raise ValueError(
            f"line {number}, column {name}: {text[:40]!r} is no number"
        ) from None
    return np.array(values)
