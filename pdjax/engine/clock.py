"""The wall clock of one run: integer picoseconds since its start."""

import time


class Clock:
  """Starts once a run; any thread may read it."""

  def __init__(self):
    self._start_ns: int | None = None

  @property
  def started(self) -> bool:
    return self._start_ns is not None

  def start(self) -> None:
    self._start_ns = time.perf_counter_ns()

  def stop(self) -> None:
    self._start_ns = None

  def now_ps(self) -> int:
    """Picoseconds since the start, of a clock that never runs backwards."""
    assert self._start_ns is not None, "the clock has not been started"
    return (time.perf_counter_ns() - self._start_ns) * 1000
