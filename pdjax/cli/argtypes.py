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


DATA_HELP = (
    "a folder with the published files, in its folders measured/ and profiles/"
)


def data_folder(*needed: str) -> Callable[[str], Path]:
  """A folder with published files, given by their paths in it; a path with a
  slash at its end is a folder's."""

  def read(text: str) -> Path:
    folder = inputfile.path_of(text)
    if not text.strip():
      raise _refused(inputfile.EMPTY)
    if not folder.is_dir():
      raise _refused(f"{text}: no such folder")
    for each in needed:
      if reason := _lacking(folder, each):
        raise _refused(f"{text}: {reason}{_above(folder, each)}")
    return folder

  return read


def _lacking(folder: Path, needed: str) -> str:
  """Why a file or a folder in it cannot be read; empty if it can be."""
  if needed.endswith("/"):
    found = (folder / needed).is_dir()
    return "" if found else f"no folder {needed} in it"
  reason = inputfile.refusal(str(folder / needed))
  return f"{needed} in it: {reason.partition(';')[0]}" if reason else ""


def _above(folder: Path, needed: str) -> str:
  """Where a folder within the one that is meant was named."""
  above = folder.absolute().parent
  return f"; did you mean {str(above)!r}?" if (above / needed).exists() else ""


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
