"""A command as a policy gave it: made plain, or refused.

Policies are users' code, and a wrong type would do its harm far from its cause:
a numpy integer overflows in a price, a float is no page, worker -1 is the last
one. So every command passes here before anything is done with it.
"""

import dataclasses
import operator
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pdjax.config import Role
from pdjax.events import (
  COMMANDS,
  Command,
  Interrupt,
  Reserve,
  Route,
  Step,
  Transfer,
)
from pdjax.schedule.worker import Worker

ROLES: tuple[str, ...] = typing.get_args(Role)


class IllegalCommand(RuntimeError):
  """A policy asked for something the world does not allow."""


def checked(command: Command, workers: Sequence[Worker]) -> Command:
  """The command in plain integers, tuples and words.

  Raises:
    IllegalCommand: not a command, a field of the wrong type, or a worker, lane
      or role that there is not.
  """
  fields = _FIELDS.get(type(command))
  if fields is None:
    raise IllegalCommand(
        f"{_short(command)} is not a command; a policy yields"
        f" {', '.join(kind.__name__ for kind in COMMANDS)}"
    )
  changed: dict[str, Any] = {}
  for name, plain, allowed in fields:
    value = getattr(command, name)
    try:
      made = plain(value)
    except (TypeError, ValueError):
      raise _must(command, name, f"be {allowed}", value) from None
    if made is not value:
      changed[name] = made
  if changed:
    command = dataclasses.replace(command, **changed)
  _check_places(command, workers)
  return command


def _check_places(command: Any, workers: Sequence[Worker]) -> None:
  """Whether the workers, the lane and the role it names exist."""
  names = _NAMES[type(command)]
  for name in ("worker", "source", "target"):
    if name in names:
      _within(command, name, len(workers))
  if "lane" in names:
    _within(command, "lane", len(workers[command.worker].runs))
  if "target" in names and command.source == command.target:
    raise _must(command, "target", "differ from source", command.target)
  if "role" in names and command.role not in ROLES:
    allowed = f"be one of {', '.join(ROLES)}"
    raise _must(command, "role", allowed, command.role)


def _within(command: Command, name: str, count: int) -> None:
  value = getattr(command, name)
  if not 0 <= value < count:
    allowed = f"be from 0 to {count - 1}" if count > 1 else "be 0"
    raise _must(command, name, allowed, value)


def _must(
    command: Command, name: str, allowed: str, value: Any
) -> IllegalCommand:
  return IllegalCommand(
      f"{_short(command)}: {name} must {allowed}, got {_short(value)}"
  )


def _short(value: Any) -> str:
  """A value in one line, whatever it is."""
  text = " ".join(repr(value).split())
  return text if len(text) <= 300 else text[:297] + "..."


# Types. --------------------------------------------------------------------


_INT = frozenset({int})


def _whole(value: Any) -> int:
  if type(value) is int:
    return value
  if isinstance(value, bool):
    raise TypeError
  return operator.index(value)


def _word(value: Any) -> str:
  if not isinstance(value, str):
    raise TypeError
  return value if type(value) is str else str(value)


def _are_plain(values: Any) -> bool:
  return type(values) is tuple and _INT.issuperset(map(type, values))


def _wholes(values: Iterable[Any]) -> tuple[int, ...]:
  if _are_plain(values):
    return typing.cast(tuple, values)
  return tuple(map(_whole, values))


def _pair(value: Any) -> tuple[int, int]:
  if _are_plain(value) and len(value) == 2:
    return value
  first, second = map(_whole, value)
  return first, second


def _pairs(values: Iterable[Any]) -> tuple[tuple[int, int], ...]:
  values = tuple(values)  # itself, if it is one
  pairs = tuple(map(_pair, values))
  return values if all(map(operator.is_, pairs, values)) else pairs


_MADE_PLAIN: dict[Any, tuple[Callable[[Any], Any], str]] = {
    int: (_whole, "a whole number"),
    str: (_word, "a text"),
    tuple[int, ...]: (_wholes, "whole numbers"),
    tuple[int, int]: (_pair, "two whole numbers"),
    tuple[tuple[int, int], ...]: (_pairs, "pairs of whole numbers"),
}
"""By type of field: what makes a value plain, and what is allowed."""

_FIELDS: dict[type, list[tuple[str, Callable[[Any], Any], str]]] = {
    kind: [
        (name, *_MADE_PLAIN[annotation])
        for name, annotation in typing.get_type_hints(kind).items()
    ]
    for kind in COMMANDS
}


_NAMES: dict[type, frozenset[str]] = {
    kind: frozenset(name for name, *_ in fields)
    for kind, fields in _FIELDS.items()
}


# What is plain already, told cheaply for the kinds that are frequent. --------


def _plain_route(command: Route, workers: int) -> bool:
  return (
      type(command.request) is int is type(command.worker)
      and 0 <= command.worker < workers
  )


def _plain_reserve(command: Reserve, workers: int) -> bool:
  return (
      type(command.request) is int is type(command.worker)
      and type(command.pages) is int is type(command.cached_tokens)
      and 0 <= command.worker < workers
  )


def _plain_step(command: Step, workers: int) -> bool:
  """On the first lane; others take the long way."""
  return (
      type(command.worker) is int is type(command.repeats)
      and 0 <= command.worker < workers
      and type(command.lane) is int is type(command.run)
      and command.lane == 0
      and _are_plain(command.decode)
      and type(command.prefill) is tuple
      and (not command.prefill or all(map(_is_plain_pair, command.prefill)))
  )


def _is_plain_pair(value: Any) -> bool:
  return type(value) is tuple and [*map(type, value)] == [int, int]


def _plain_interrupt(command: Interrupt, workers: int) -> bool:
  return (
      type(command.worker) is int is type(command.lane)
      and 0 <= command.worker < workers
      and command.lane == 0
  )


def _plain_transfer(command: Transfer, workers: int) -> bool:
  """Of whole pages."""
  return (
      type(command.request) is int is type(command.transfer)
      and type(command.source) is int is type(command.target)
      and 0 <= command.source < workers
      and 0 <= command.target < workers
      and command.source != command.target
      and _is_plain_pair(command.pages)
      and type(command.group_layers) is int
  )


PLAIN: dict[type, Callable[[Any, int], bool]] = {
    Route: _plain_route, Reserve: _plain_reserve, Step: _plain_step,
    Interrupt: _plain_interrupt, Transfer: _plain_transfer,
}
"""Whether nothing about a command is to be made plain or refused, given the
number of workers. Where it says no, `checked` has the last word."""
