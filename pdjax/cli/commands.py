"""`--print_commands`: a command for each cell, for whatever runs commands."""

import shlex
from collections.abc import Iterator, Sequence

from pdjax.cli.flags import Flags
from pdjax.cli.plan import Part, made_by
from pdjax.sweep.cells import Cell

_PYTHON = ("python", "-m", "pdjax.experiment")
_DROPPED = (
    "print_commands", "noprint_commands", "shard", "cell", "retry_failed",
    "noretry_failed",
)
"""Flags that choose what is printed, and one that a line has if it needs it."""


def commands(
    arguments: Sequence[str],
    flags: Flags,
    chosen: Sequence[tuple[Part, Sequence[Cell]]],
) -> Iterator[str]:
  """A line for each cell that is to be run; it runs that cell and no other.

  Args:
    arguments: of the command that prints them.
    flags: what the arguments say.
    chosen: experiments, each with some of its cells.
  """
  kept = list(_kept(arguments))
  for part, cells in chosen:
    for cell in cells:
      found = part.store.find(cell, made_by(cell)).run
      if found is None or flags.rerun:
        own = [f"--cell={cell.id[:12]}", *_again(part, cell, flags)]
        yield shlex.join([*_PYTHON, *kept, *own])


def _again(part: Part, cell: Cell, flags: Flags) -> list[str]:
  """What it takes for a cell to run that would fail again."""
  retried = flags.retry_failed or (
      not flags.rerun and part.store.failure(cell, made_by(cell))
  )
  return ["--retry_failed"] if retried else []


def _kept(arguments: Sequence[str]) -> Iterator[str]:
  """The arguments without the flags dropped, nor their values."""
  rest = list(arguments)
  while rest:
    argument = rest.pop(0)
    name, equals, _ = argument.removeprefix("--").partition("=")
    if not argument.startswith("--") or name not in _DROPPED:
      yield argument
    elif name in ("shard", "cell") and not equals:
      rest.pop(0)
