"""What a policy decides, and where in its file that goes wrong.

A policy is a user's code. Whatever it raises, yields or never ends is told as
its own fault, with file and line, and not as a trace through this package.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from pdjax.events import Command
from pdjax.schedule.checked import IllegalCommand

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib")
)


END: Any = object()
"""After the last command of an event."""


class PolicyFault(RuntimeError):
  """A policy failed, or would never end; the message says where and how."""


def refused(
    commands: Iterator[Command], error: IllegalCommand
) -> IllegalCommand:
  """The refusal of the last command, with the place that yielded it."""
  return IllegalCommand(f"{_prefix(_yielding(commands))}{error}")


def endless(commands: Iterator[Command], command: Any) -> PolicyFault:
  """A policy that yields for ever, lately `command`."""
  return PolicyFault(
      f"{_prefix(_yielding(commands))}commands for one event without an end,"
      f" lately {command}"
  )


def asked(
    method: Callable[..., Iterable[Command]], *arguments: Any
) -> Iterator[Command]:
  """The commands that a policy's method gives.

  Raises:
    PolicyFault: it raised, or gave nothing to iterate over.
  """
  try:
    commands = method(*arguments)
  except Exception as error:
    raise fault(error) from error
  try:
    return iter(commands)
  except TypeError:
    code = getattr(method, "__code__", None)
    place = _place(code.co_filename, code.co_firstlineno) if code else ""
    name = getattr(method, "__qualname__", repr(method))
    raise PolicyFault(
        f"{_prefix(place)}{name} returned {commands!r}: it must yield commands"
    ) from None


def fault(error: Exception) -> Exception:
  """The error as the fault of the innermost line that is a user's.

  An error without such a line is this package's own, and stays as it is.
  """
  frames = [
      frame for frame in traceback.extract_tb(error.__traceback__)
      if not frame.filename.startswith(_PACKAGE)
  ]
  if not frames:
    return error
  own = [f for f in frames if not f.filename.startswith(_LIBRARIES)]
  frame = (own or frames)[-1]
  what = f"{type(error).__name__}: {error}"
  if isinstance(error, PolicyFault):
    what = str(error)
  return PolicyFault(f"{_place(frame.filename, frame.lineno)}: {what}")


def _yielding(commands: Any) -> str:
  """Where a generator stands: its innermost line outside this package."""
  place = ""
  while commands is not None:
    frame: FrameType | None = getattr(commands, "gi_frame", None)
    if frame and not frame.f_code.co_filename.startswith(_PACKAGE):
      place = _place(frame.f_code.co_filename, frame.f_lineno)
    commands = getattr(commands, "gi_yieldfrom", None)
  return place


def _place(filename: str, line: int | None) -> str:
  """`file:line`, from the current folder if it is in there."""
  path = Path(filename)
  if path.is_relative_to(Path.cwd()):
    path = path.relative_to(Path.cwd())
  return f"{path}:{line}"


def _prefix(place: str) -> str:
  return f"{place}: " if place else ""
