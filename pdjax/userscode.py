"""Code that a user wrote, called: whatever it raises is one line.

Python code that ends its process does so by an exception, which can be caught,
or by `os._exit` and `os.exec*`, which cannot: a command would be over without
a word, with an exit status that is not its own. So these raise too while such
code runs.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from pdjax.config import ConfigError

_ENDS = ("_exit", "execv", "execve")
"""What the other functions of `os` that end a process call."""


@contextlib.contextmanager
def users_code(what: str) -> Iterator[None]:
  """Whatever is raised within, exits too, becomes a mistake in `what`.

  Raises:
    ConfigError: something was raised.
  """
  try:
    with process_goes_on():
      yield
  except KeyboardInterrupt:
    raise
  except BaseException as error:
    raise ConfigError([f"{what}: {raised(error)}"]) from error


@contextlib.contextmanager
def to_the_end(what: str) -> Iterator[None]:
  """Work that calls a user's code here and there; only its end is told.

  Raises:
    ConfigError: something within would have ended the process.
  """
  try:
    with process_goes_on():
      yield
  except SystemExit as error:
    raise ConfigError([f"{what}: {raised(error)}"]) from error


@contextlib.contextmanager
def process_goes_on() -> Iterator[None]:
  """Within, `os._exit` and `os.exec*` raise SystemExit in this process."""
  before = {name: getattr(os, name) for name in _ENDS}
  for name, end in before.items():
    setattr(os, name, _raising(name, end))
  try:
    yield
  finally:
    for name, end in before.items():
      setattr(os, name, end)


def _raising(name: str, end: Callable[..., Any]) -> Callable[..., NoReturn]:
  process = os.getpid()

  def ended(*arguments: Any, **named: Any) -> NoReturn:
    if os.getpid() != process:  # a forked child may end as it likes
      end(*arguments, **named)
    given = ", ".join(map(repr, arguments[:1]))
    raise SystemExit(f"os.{name}({given}) would have ended the command")

  return ended


def raised(error: BaseException) -> str:
  """An exception in words."""
  try:
    return f"{type(error).__name__}: {error}"
  except Exception:  # some cannot even say what they are
    return f"{type(error).__name__}: no message"
