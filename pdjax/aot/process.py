"""Processes that answer item by item and may die: one at a time, outlived.

A process reads one JSON request from standard input and prints a JSON object
a line, one for each item it was asked about, in order. One that dies or falls
silent takes down the item it was at and no other: the next process goes on
behind it.
"""

import dataclasses
import itertools
import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

_Item = TypeVar("_Item")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Process:
  """How it is started and how long it may be silent."""

  command: Sequence[str]
  environment: Mapping[str, str]
  """On top of the caller's."""
  timeout_s: float
  """For one item; the first one's has the start in it."""
  at_a_time: int | None = None
  """Items of one process; None is all that are left."""

  def answers(
      self, items: Sequence[_Item], request: Callable[[list[_Item]], Any]
  ) -> Iterator[dict[str, Any] | str]:
    """What was answered to each item, or how its process ended."""
    left = list(items)
    while left:
      asked, done = left[: self.at_a_time], 0
      with tempfile.TemporaryFile("w+") as noise:
        child = self._child(request(asked), noise)
        try:
          for line in itertools.islice(self._lines(child), len(asked)):
            left.pop(0)
            done += 1
            yield json.loads(line)
        finally:
          child.kill()
          status = child.wait()
        if done < len(asked):
          left.pop(0)
          yield self._death(status, noise)

  def _child(self, request: Any, noise) -> subprocess.Popen:
    child = subprocess.Popen(
        self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=noise, text=True, env=os.environ | self.environment,
    )
    assert child.stdin is not None
    try:
      child.stdin.write(json.dumps(request))
      child.stdin.close()
    except BrokenPipeError:
      pass  # it is dead, and will say why
    return child

  def _lines(self, child: subprocess.Popen) -> Iterator[str]:
    """Result lines until the process ends or is silent for too long."""
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

    def read() -> None:
      for line in child.stdout or ():
        lines.put(line)
      lines.put(None)

    threading.Thread(target=read, daemon=True).start()
    while True:
      try:
        line = lines.get(timeout=self.timeout_s)
      except queue.Empty:
        return
      if line is None:
        child.wait()
        return
      if line.startswith("{"):  # compilers print what they like
        yield line

  def _death(self, status: int, noise) -> str:
    if status == -signal.SIGKILL:
      return (
          f"no answer within {self.timeout_s:g} s, or killed for its memory"
      )
    noise.seek(0)
    said = [line.strip() for line in noise if line.strip()]
    how = f"signal {-status}" if status < 0 else f"exit {status}"
    return f"its process ended ({how}): {_telling(said)}"[:400]


def _telling(lines: list[str]) -> str:
  """The line that most likely says why."""
  for line in lines:
    if "Check fail" in line or line.startswith("F0"):
      return line
  return lines[-1] if lines else "it said nothing"
