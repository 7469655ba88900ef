"""Taking decisions from a policy, and saying where in its file one goes wrong.

A policy is a user's code. Whatever it raises, yields or never ends is told as
its own fault, with file and line, and not as a trace through this package.
"""

from __future__ import annotations

import os
import sysconfig
import traceback
import typing
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from pdjax.events import Command, Event
from pdjax.schedule.checked import IllegalCommand

if typing.TYPE_CHECKING:
  from pdjax.schedule.loop import Policy
  from pdjax.schedule.world import World

_PACKAGE = str(Path(__file__).parents[1]) + os.sep
_LIBRARIES = tuple(
    sysconfig.get_path(name) + os.sep for name in ("stdlib", "purelib")
)


_END: Any = object()


class PolicyFault(RuntimeError):
  """A policy failed, or would never end; the message says where and how."""


def carry_out(
    policy: Policy,
    event: Event,
    world: World,
    start: Callable[[Command], None],
) -> None:
  """Starts each command of one event before the next is asked for.

  Raises:
    PolicyFault: the policy raised, gave no commands, or too many to ever end.
    IllegalCommand: `start` refused one; told with the place that yielded it.
  """
  commands, command = asked(policy.decide, event, world), None
  for _ in range(1000 + 100 * (world.unfinished + len(world.workers))):
    try:
      command = next(commands, _END)
    except Exception as error:
      raise _fault(error) from error
    if command is _END:
      return
    try:
      start(command)
    except IllegalCommand as error:
      raise IllegalCommand(f"{_place_of(commands)}{error}") from error
  raise PolicyFault(
      f"{_place_of(commands)}commands for one event without an end, lately"
      f" {command}"
  )


def _place_of(commands: Iterator[Command]) -> str:
  return _prefix(_yielding(commands))


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
    raise _fault(error) from error
  try:
    return iter(commands)
  except TypeError:
    code = getattr(method, "__code__", None)
    place = _place(code.co_filename, code.co_firstlineno) if code else ""
    name = getattr(method, "__qualname__", repr(method))
    raise PolicyFault(
        f"{_prefix(place)}{name} returned {commands!r}: it must yield commands"
    ) from None


def _fault(error: Exception) -> Exception:
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
