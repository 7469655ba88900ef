"""What a command line says: read, refused and explained alike by all commands.

A command states its flags in a `Grammar`. Spelling, repeats, switches with
values, flags without one and empty arguments are dealt with here. Those of
`pdjax.experiment`, which name fields of a config too, are in `pdjax.cli.flags`.
"""

import dataclasses
import re
import textwrap
from collections.abc import Mapping, Sequence

from pdjax import inputfile
from pdjax.fieldtypes import near

HELP = ("-h", "-?", "--help")
EMPTY = f"'': {inputfile.EMPTY}"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grammar:
  """The flags of one command, without their dashes."""

  values: tuple[str, ...] = ()
  """Said once, with a value: `--NAME=VALUE`, or the value as next argument."""
  added: tuple[str, ...] = ()
  """The same, but may be said again."""
  switches: tuple[str, ...] = ()
  """Without a value."""
  handed_on: tuple[str, ...] = ()
  """Flags of `pdjax.experiment`, which reads them and says what is wrong."""

  @property
  def names(self) -> tuple[str, ...]:
    own = (*self.values, *self.added, *self.switches)
    return (*own, *self.handed_on, "help")


@dataclasses.dataclass(kw_only=True)
class Said:
  """What the arguments say."""

  given: list[str] = dataclasses.field(default_factory=list)
  """What is no flag: folders and files."""
  values: list[tuple[str, str]] = dataclasses.field(default_factory=list)
  """(flag, value), in order."""
  switches: set[str] = dataclasses.field(default_factory=set)
  handed_on: list[str] = dataclasses.field(default_factory=list)
  errors: list[str] = dataclasses.field(default_factory=list)
  """A line for each argument that is not understood."""
  help: bool = False

  def value(self, name: str) -> str | None:
    return dict(self.values).get(name)

  def all(self, name: str) -> list[str]:
    return [value for flag, value in self.values if flag == name]

  def expect(self, words: str, least: int = 1, most: int | None = None) -> None:
    """A line where more or fewer folders are given; None: no bound."""
    count = len(self.given) + self.errors.count(EMPTY)
    if count < least or (most is not None and count > most):
      self.errors.append(f"expected {words}, got {count}; see --help")


def read(arguments: Sequence[str], grammar: Grammar) -> Said:
  """Every argument, in any order."""
  said, rest, seen = Said(), list(arguments), []
  while rest:
    argument = rest.pop(0)
    if argument in HELP:
      said.help = True
    elif not argument.strip():
      said.errors.append(EMPTY)
    elif not argument.startswith("-"):
      said.given.append(argument)
    else:
      seen.append(argument[2:].partition("=")[0])
      _flag(said, argument, rest, grammar)
  said.errors += twice(seen, (*grammar.added, *grammar.handed_on))
  return said


def twice(seen: Sequence[str], added: Sequence[str]) -> list[str]:
  """A line for each flag that is said once and was given again.

  Args:
    seen: names of all flags given.
    added: those that may be given again; `config.` begins those of fields,
      which are another's business.
  """
  return [
      f"--{name}: given twice; say it once" for name in dict.fromkeys(seen)
      if seen.count(name) > 1 and name not in (*added, "help")
      and not name.startswith("config.")
  ]


def unknown(argument: str, names: Sequence[str]) -> str:
  """The line for a flag that is none of `names`."""
  bare = argument.lstrip("-").partition("=")[0]
  if bare in names and not argument.startswith("--"):
    return f"{argument}: flags have two dashes: --{argument.lstrip('-')}"
  named = argument.partition("=")[0]
  wanted = near(bare, names).replace("mean '", "mean '--")
  return f"{named}: no such flag" + (wanted or "; see --help")


def _flag(
    said: Said, argument: str, rest: list[str], grammar: Grammar
) -> None:
  name, equals, text = argument.removeprefix("--").partition("=")
  of_field = name.startswith("config.") and "config" in grammar.handed_on
  if (name in grammar.handed_on and argument[:2] == "--") or of_field:
    said.handed_on += [argument, *_next(equals, rest)]
  elif name not in grammar.names or argument[:2] != "--":
    said.errors.append(unknown(argument, grammar.names))
  elif name in (*grammar.switches, "help"):
    said.switches.add(name)
    said.errors += [f"--{name}: takes no value"] if equals else []
  else:
    (text,) = [text] if equals else _next(equals, rest) or [""]
    said.values.append((name, text))
    if not text.strip():
      said.errors.append(f"--{name}: needs a value, as in --{name}=VALUE")


def _next(equals: str, rest: list[str]) -> list[str]:
  """The next argument, where that is the value."""
  return [] if equals or not rest or rest[0][:1] == "-" else [rest.pop(0)]


# The text of --help. ----------------------------------------------------------


def usage(
    flags: str, remarks: str, done: str, others: Mapping[int, str] | None = None
) -> str:
  """What `--help` shows, with what all commands have in common.

  Args:
    flags: what the command does, how it is called, and its flags, last.
    remarks: lines of what else is to be known; may be empty.
    done: what exit status 0 means.
    others: those beside 0 and 2.
  """
  columns = re.findall(r"^  --.*?\S {2,}(?=\S)", flags, re.MULTILINE)
  width = min(map(len, columns), default=12)
  ends = [f"{number} {words}" for number, words in (others or {}).items()]
  told = (
      f"Exit status: {', '.join([f'0 {done}', *ends])}, 2 a mistake in what was"
      " asked, a line each."
  )
  return (
      f"{flags}{'  --help':<{width}}shows this\n\n{remarks}"
      f"{textwrap.fill(told, 80)}\n"
  )
