"""Runs compiler processes, one at a time, and outlives them.

A process that dies takes down the program it was compiling and no other: the
next one goes on behind it.
"""

import dataclasses
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator

from pdjax import schema
from pdjax.aot.compile import QUIET, Compiled
from pdjax.aot.job import Job
from pdjax.aot.target import Target

COMMAND = [sys.executable, "-m", "pdjax.aot.compile"]


def compiled(
    job: Job, target: Target, timeout_s: float
) -> Iterator[Compiled]:
  """What becomes of each of the job's programs, in order, as it happens.

  `timeout_s` is for one program.
  """
  left = list(job.shapes)
  while left:
    with tempfile.TemporaryFile("w+") as noise:
      child = _child(job, target, left, noise)
      try:
        for line in _lines(child, timeout_s):
          yield Compiled(**json.loads(line))
          left.pop(0)
      finally:
        child.kill()
        status = child.wait()
      if left:
        shape = left.pop(0)
        yield Compiled(
            shape=str(shape), kind=shape.kind, seconds=0.0,
            refused=_death(status, noise, timeout_s),
        )


def _child(job: Job, target: Target, shapes, noise) -> subprocess.Popen:
  child = subprocess.Popen(
      COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=noise,
      text=True,
      env=os.environ | QUIET[target.platform],
  )
  request = {
      "target": target.name,
      "run": schema.tree_of(job.run),
      "worker": job.worker,
      "R": job.R,
      "shapes": [dataclasses.asdict(shape) for shape in shapes],
  }
  assert child.stdin is not None
  try:
    child.stdin.write(json.dumps(request))
    child.stdin.close()
  except BrokenPipeError:
    pass  # it is dead, and will say why
  return child


def _lines(child: subprocess.Popen, timeout_s: float) -> Iterator[str]:
  """Result lines until the process ends or is silent for too long."""
  lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()

  def read() -> None:
    for line in child.stdout or ():
      lines.put(line)
    lines.put(None)

  threading.Thread(target=read, daemon=True).start()
  while True:
    try:
      line = lines.get(timeout=timeout_s)
    except queue.Empty:
      return
    if line is None:
      child.wait()
      return
    if line.startswith("{"):  # compilers print what they like
      yield line


def _death(status: int, noise, timeout_s: float) -> str:
  if status == -signal.SIGKILL:
    return f"no answer within {timeout_s:g} s, or killed for its memory"
  noise.seek(0)
  said = [line.strip() for line in noise if line.strip()]
  how = f"signal {-status}" if status < 0 else f"exit {status}"
  return f"the compiler's process ended ({how}): {_telling(said)}"[:400]


def _telling(lines: list[str]) -> str:
  """The line that most likely says why."""
  for line in lines:
    if "Check fail" in line or line.startswith("F0"):
      return line
  return lines[-1] if lines else "it said nothing"
