"""What every command has in common: how it answers, whatever happens.

Output outlives its reader, mistakes are a line each, and a signal ends the
command in one way. What a command does is its own.
"""

import sys
from collections.abc import Callable, Sequence

from pdjax.cli import stop
from pdjax.cli.output import lasting_output, lost_output
from pdjax.config import ConfigError

OK, FAILED, MISTAKE = 0, 1, 2


def answer(
    act: Callable[[Sequence[str]], int],
    arguments: Sequence[str],
    interrupted: str = "interrupted",
) -> int:
  """The exit status of `act(arguments)`.

  Args:
    act: does what the command line asks; raises ConfigError for mistakes.
    interrupted: said when the keyboard or a signal ended it.
  """
  with lasting_output(), stop.stoppable():
    try:
      return _told_whole(act(arguments))
    except ConfigError as error:
      for line in error.errors:
        print(line, file=sys.stderr)
      return MISTAKE
    except KeyboardInterrupt as error:
      print(interrupted, file=sys.stderr)
      return stop.status_of(error)


def _told_whole(status: int) -> int:
  """A command that was done, but whose output is lost in part, failed."""
  loss = lost_output()
  if status == OK and loss:
    print(f"standard output: {loss}: some of it is lost", file=sys.stderr)
    return FAILED
  return status
