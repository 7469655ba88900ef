"""Output that outlives its reader.

What a program prints is for whoever looks; what it does must not depend on
them. `| head`, a closed terminal or a full disk under a log end the output,
not the work. A reader that has left wanted no more; what a full disk did not
take is lost, and that is told.
"""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import TextIO


class _Lasting:
  """A text stream that falls silent when it cannot be written to."""

  def __init__(self, stream: TextIO):
    self._stream = stream
    self._silent = False
    self.loss = ""
    """Why output was lost that somebody may have wanted, if it was."""

  def write(self, text: str) -> int:
    self._attempt(lambda: self._stream.write(text))
    return len(text)

  def flush(self) -> None:
    self._attempt(self._stream.flush)

  def _attempt(self, act) -> None:
    if self._silent:
      return
    try:
      act()
    except (OSError, ValueError) as error:  # ValueError: it has been closed
      self._silent = True
      if isinstance(error, OSError) and error.errno in _FULL:
        self.loss = str(error.strerror)
      _drop_the_rest(self._stream)

  def __getattr__(self, name: str):
    return getattr(self._stream, name)


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _drop_the_rest(stream: TextIO) -> None:
  """What is still buffered goes nowhere, or Python complains as it ends."""
  with contextlib.suppress(OSError, ValueError):
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


@contextlib.contextmanager
def lasting_output() -> Iterator[None]:
  """Standard output and errors never fail, also where they are ASCII only."""
  _fill_closed()
  with contextlib.ExitStack() as stack:
    for name in ("stdout", "stderr"):
      stream = getattr(sys, name)
      if stream is None:
        stream = stack.enter_context(open(os.devnull, "w"))
      if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")
      stack.callback(setattr, sys, name, getattr(sys, name))
      setattr(sys, name, _Lasting(stream))
    yield


def lost_output() -> str:
  """Why something printed within `lasting_output` is lost; empty if not."""
  sys.stdout.flush()
  return getattr(sys.stdout, "loss", "")


def _fill_closed() -> None:
  """A file opened later must not become standard output by its number."""
  while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
    pass
  os.close(number)
