"""Types of arguments for the parsers of scripts beside the package.

A script's own `argparse` then says in a line what is wrong, before any work is
done; `pdjax`' commands have their own parser (`pdjax.cli.arguments`).
"""

import argparse
from collections.abc import Callable, Collection
from pathlib import Path

from pdjax import inputfile
from pdjax.cli.aot import output_of
from pdjax.fieldtypes import near
from pdjax.ranges import MAX_TOKENS, Range
from pdjax.sweep import temporary


def whole(low: int, high: int = MAX_TOKENS) -> Callable[[str], int]:
  """A whole number from `low` to `high`."""
  return lambda text: _within(int, "a whole number", text, Range(low, high))


def number(allowed: Range) -> Callable[[str], float]:
  """A number in a range."""
  return lambda text: _within(float, "a number", text, allowed)


def _within(kind, what: str, text: str, allowed: Range):
  try:
    value = kind(text)
  except ValueError:
    raise _refused(f"expected {what}, got {text!r}") from None
  if value not in allowed:
    raise _refused(f"must be {allowed}, got {text}")
  return value


def some_of(names: Collection[str]) -> Callable[[str], list[str]]:
  """Names out of `names`, with commas between them."""

  def read(text: str) -> list[str]:
    given = text.split(",")
    for name in given:
      if name not in names:
        raise _refused(
            f"{name!r}{near(name, names)}; known: {', '.join(names)}"
        )
    return given

  return read


def input_file(text: str) -> str:
  """The name of a file that can be read."""
  if reason := inputfile.refusal(text):
    raise _refused(f"{text}: {reason}")
  return text


def output_file(text: str) -> Path:
  """A file that can be written, in a folder that is there."""
  errors: list[str] = []
  path = output_of("", text or ".", errors)
  if errors or path is None:
    raise _refused(errors[0].removeprefix("--="))
  return path


def output_folder(text: str) -> Path:
  """A folder that can be written to; it need not be there yet."""
  path = Path(text)
  reason = temporary.refusal(path)
  if reason is not None:
    raise _refused(f"{text}: {reason}")
  return path


def _refused(reason: str) -> argparse.ArgumentTypeError:
  return argparse.ArgumentTypeError(reason)
