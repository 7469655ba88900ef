"""The asking end of the line: starts contenders, asks them in turn.

A contender that is not installed, or that dies, is told of in one line; the
others go on.
"""

import dataclasses
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_START_S = 600.0
_ANSWER_S = 300.0


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
  """A contender that may be there or not."""

  name: str
  module: str
  """Run with `python -m`."""
  python: str
  install: str = ""
  """The command that would install it."""
  environment: Mapping[str, str] = dataclasses.field(default_factory=dict)


class Line:
  """A contender's process; `failure` says why there is none."""

  def __init__(self, entry: Entry, asked: dict[str, Any]):
    self.entry, self.failure = entry, ""
    self.about: dict[str, Any] = {}
    self._errors = tempfile.TemporaryFile("w+")
    self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    try:
      self._process = self._started(asked)
    except OSError as error:
      self._process, self.failure = None, f"{entry.python}: {error.strerror}"
      return
    threading.Thread(target=self._listen, daemon=True).start()

  def wait(self) -> None:
    """Until it has loaded its model, or has failed to."""
    if self._process is not None:
      self.about = self._answer(_START_S).get("about", {})

  def ask(self, ask: str, **question: Any) -> dict[str, Any]:
    """The answer; an empty one where there is none, see `failure`."""
    if self.failure:
      return {}
    assert self._process is not None and self._process.stdin is not None
    self._process.stdin.write(json.dumps({"ask": ask, **question}) + "\n")
    self._process.stdin.flush()
    return self._answer(_ANSWER_S)

  def close(self) -> None:
    if self._process is not None:
      self._process.kill()
      self._process.wait()
    self._errors.close()

  def _started(self, asked: dict[str, Any]) -> subprocess.Popen:
    path = os.environ.get("PYTHONPATH", "")
    environment = {
        **os.environ, **self.entry.environment,
        "PYTHONPATH": f"{ROOT}{os.pathsep}{path}" if path else str(ROOT),
    }
    return subprocess.Popen(
        [self.entry.python, "-m", self.entry.module, json.dumps(asked)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors,
        env=environment, text=True, cwd=tempfile.gettempdir(),
    )

  def _listen(self) -> None:
    assert self._process is not None and self._process.stdout is not None
    for line in self._process.stdout:
      self._answers.put(line)
    self._answers.put("")

  def _answer(self, timeout_s: float) -> dict[str, Any]:
    try:
      line = self._answers.get(timeout=timeout_s)
    except queue.Empty:
      line = json.dumps({"failed": f"no answer in {timeout_s:.0f} s"})
    answer = json.loads(line) if line else {"failed": self._last_error()}
    if "failed" in answer:
      self.failure = self._told(answer)
      return {}
    return answer

  def _told(self, answer: dict[str, Any]) -> str:
    if answer.get("missing") and self.entry.install:
      return f"not installed: {self.entry.install}"
    return answer["failed"]

  def _last_error(self) -> str:
    self._errors.seek(0)
    lines = [line for line in self._errors if line.strip()]
    return lines[-1].strip()[:300] if lines else "ended without a word"
