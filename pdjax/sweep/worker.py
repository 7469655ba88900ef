"""A process that does runs for another one, until that one ends.

`python -m pdjax.sweep.worker MODULE:FUNCTION` calls the function for each job
that comes on its standard input, a JSON line each. It answers with JSON lines:

  {"said": text}                          progress
  {"ended": message, "lasting": boolean, "mistakes": lines}
                                          the run is over; no message means
                                          that all is well

What a run prints counts as progress; what it writes to its error output, and
its traceback, go to `log.txt` in the run's folder. When the input ends in the
middle of a run, whoever asked for it is gone, and so is this process at once.
"""

import contextlib
import importlib
import io
import json
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.config import ConfigError
from pdjax.sweep import runfiles

Say = Callable[[str], None]


def message_of(error: BaseException) -> str:
  """An exception in one line."""
  if isinstance(error, ConfigError):
    return "; ".join(error.errors)
  kind, text = type(error).__name__, str(error).replace("\n", " ").strip()
  return f"{kind}: {text}" if text else kind


def is_lasting(error: BaseException) -> bool:
  """Whether a run would fail in the same way again, as far as one can tell."""
  return not isinstance(error, (OSError, MemoryError, KeyboardInterrupt))


def function_of(name: str) -> Callable[..., Any]:
  """What `module:function` names."""
  module, _, function = name.partition(":")
  return getattr(importlib.import_module(module), function)


class _Said(io.TextIOBase):
  """A standard output whose lines are progress."""

  def __init__(self, say: Say):
    self._say, self._rest = say, ""

  def write(self, text: str) -> int:
    *lines, self._rest = (self._rest + text).split("\n")
    for line in lines:
      self._say(line)
    return len(text)

  def end(self) -> None:
    if self._rest:
      self.write("\n")


class _Asker:
  """Whoever asks for runs: jobs come from it and answers go to it."""

  def __init__(self):
    self._jobs: queue.SimpleQueue[dict | None] = queue.SimpleQueue()
    self._writing = threading.Lock()
    self._busy = False
    # What a run prints, reads or starts must not touch these.
    self._input = os.fdopen(os.dup(0), encoding="utf-8")
    self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    threading.Thread(target=self._listen, daemon=True).start()

  def _listen(self) -> None:
    for line in self._input:
      self._busy = True
      self._jobs.put(json.loads(line))
    if self._busy:
      os.kill(os.getpid(), signal.SIGKILL)
    self._jobs.put(None)

  def jobs(self) -> Iterator[dict[str, Any]]:
    while (job := self._jobs.get()) is not None:
      yield job

  def say(self, text: str) -> None:
    self._tell({"said": text})

  def end(self, error: BaseException | None) -> None:
    """Says that a run is over and what it raised, if anything."""
    self._busy = False
    if error is None:
      self._tell({"ended": ""})
    else:
      self._tell({
          "ended": message_of(error),
          "lasting": is_lasting(error),
          "mistakes": getattr(error, "errors", []),
      })

  def _tell(self, answer: dict[str, Any]) -> None:
    with self._writing:
      self._output.write(json.dumps(answer) + "\n")
      self._output.flush()


def _do(job: dict[str, Any], name: str, say: Say) -> BaseException | None:
  """Does a run; returns what it raised."""
  folder, said = Path(job["folder"]), _Said(say)
  try:
    _log_to(folder / runfiles.LOG)
    sys.path += [path for path in job["path"] if path not in sys.path]
    run_cell = function_of(name)
    with contextlib.redirect_stdout(said):
      run_cell(schema.run_from_tree(job["config"]), folder, say)
    said.end()
  except BaseException as error:  # `sys.exit` in a run ends that run alone
    traceback.print_exc()
    return error
  return None


def _log_to(path: Path) -> None:
  log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
  os.dup2(log, 1)
  os.dup2(log, 2)
  os.close(log)


def main(arguments: list[str]) -> int:
  (name,) = arguments
  # An interrupt is the asker's business: it ends us if it wants to.
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  asker = _Asker()
  for job in asker.jobs():
    asker.end(_do(job, name, asker.say))
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
