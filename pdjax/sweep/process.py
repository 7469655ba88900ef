"""A process that does runs, seen from the one that asks it to.

The other side is `pdjax.sweep.worker`. It ends with this process, however that
ends: its input is a pipe that only this process holds.
"""

import json
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.config import Run
from pdjax.sweep import runfiles

_PATIENCE_S = 30.0
"""For a process that has nothing to do any more."""

Answers = queue.SimpleQueue[tuple["Process", dict[str, Any] | None]]
"""What processes say; None when one is gone."""


class Process:
  """Does one run at a time; its answers come through a queue."""

  def __init__(
      self,
      function: str,
      env: Mapping[str, str] | None,
      folder: Path,
      answers: Answers,
  ):
    """Starts the process.

    Args:
      function: `module:function`, called with a run, a folder and `say`.
      env: its environment, None for this one.
      folder: of its first run, whose log has what it says about its start.
      answers: is put what it says, and None when it is gone.

    Raises:
      OSError: it cannot be started.
    """
    with (folder / runfiles.LOG).open("ab") as log:
      self._process = subprocess.Popen(
          [sys.executable, "-m", "pdjax.sweep.worker", function],
          stdin=subprocess.PIPE,
          stdout=subprocess.PIPE,
          stderr=log,
          env=env,
      )
    threading.Thread(target=self._listen, args=(answers,), daemon=True).start()

  def ask(self, run: Run, folder: Path) -> None:
    """Asks for a run; if the process is gone, its last answer will say so."""
    job = {
        "config": schema.tree_of(run),
        "folder": str(folder),
        "path": [path for path in sys.path if path],
    }
    assert self._process.stdin is not None
    try:
      self._process.stdin.write(json.dumps(job).encode() + b"\n")
      self._process.stdin.flush()
    except BrokenPipeError:
      pass

  def _listen(self, answers: Answers) -> None:
    assert self._process.stdout is not None
    with self._process.stdout as lines:
      for line in lines:
        if line.endswith(b"\n"):  # else it was killed while it wrote
          answers.put((self, json.loads(line)))
    answers.put((self, None))

  def end(self) -> None:
    """Lets it end, once it has nothing to do."""
    assert self._process.stdin is not None
    try:
      self._process.stdin.close()
      self._process.wait(_PATIENCE_S)
    except (BrokenPipeError, subprocess.TimeoutExpired):
      self.kill()

  def kill(self) -> None:
    """Ends it at once, in the middle of whatever it does."""
    self._process.kill()
    self._process.wait()

  def killed_by(self) -> str:
    """The signal that ended it, empty if it ended by itself."""
    code = self._process.wait()
    try:
      return signal.Signals(-code).name if code < 0 else ""
    except ValueError:
      return f"signal {-code}"

  def status(self) -> int:
    return self._process.wait()
