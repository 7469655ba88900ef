"""How much a run served per second.

Of a counted run: what finished requests brought and got, over the makespan,
ramp and drain included. Of a steady one: what was done in the window for
requests that finished, measured or not, over the window. Tokens of requests
that were given up are in no rate: nobody has them.

Units: `_ns` integer nanoseconds, results per second.
"""

import numpy as np

from pdjax.metrics.requests import RequestTable, span_ns
from pdjax.window import Window


def duration_of(table: RequestTable) -> int:
  """Nanoseconds that rates divide by: the window, or the makespan."""
  return _length(table, table.window)


def makespan_ns(table: RequestTable) -> int:
  """From the first intended arrival until the last request ended."""
  return _length(table, None)


def _length(table: RequestTable, window: Window | None) -> int:
  begin_ns, end_ns = span_ns(table.columns, table.end_ns, window)
  return end_ns - begin_ns


def counted_ns(table: RequestTable) -> tuple[int, int]:
  """From when on and before when a token must be made to be in a rate."""
  if table.window:
    return table.window.begin_ns, table.window.end_ns
  return 0, np.iinfo(np.int64).max


def throughputs(table: RequestTable) -> dict[str, float | None]:
  """Requests, answer tokens, and all tokens a second.

  Args:
    table: all requests, not the measured ones only.
  """
  window = table.window
  done = _done_in(table, window) if window else table.finished
  made = table.tokens.only(table.finished).made_between(*counted_ns(table))
  amounts = {
      "request_throughput": int(done.sum()),
      "output_throughput": made,
      "total_token_throughput": made + int(table["prompt_tokens"][done].sum()),
  }
  seconds = duration_of(table) / 1e9
  return {
      name: amount / seconds if seconds else None
      for name, amount in amounts.items()
  }


def _done_in(table: RequestTable, window: Window) -> np.ndarray:
  ended_ps = np.ma.filled(table["ended_ns"], -1) * 1000
  return table.finished & window.holds(ended_ps)
