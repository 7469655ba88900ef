"""One row of a trace, whatever the format.

Units: `_ps` picoseconds of the trace's own clock, `_tokens` tokens.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.lengths import MAX_TOKENS

LIMITS = ("cancel_after_s", "deadline_s")
"""Columns or fields that a row of any format may have: seconds from its arrival
until its client gives up, and to its deadline."""

LONGEST_S = 10**6
"""Of either; twelve days."""

_SECONDS = re.compile(r"(\d{1,12})(?:\.(\d{0,30}))?", re.ASCII)


class Unusable(Exception):
  """A row that is right and yet no request, such as a recorded failure."""


class Row(NamedTuple):
  """When a request came, how long it and its answer were, and its blocks."""

  at_ps: int
  prompt_tokens: int
  output_tokens: int
  prefix_ids: tuple[int, ...] = ()
  cancel_after_ps: int = 0
  """From arrival until its client gives up; 0 if it never does."""
  deadline_after_ps: int = 0
  """From arrival to its deadline; 0 without one."""


def checked_length(name: str, tokens: int) -> int:
  """`tokens` as it is.

  Raises:
    ValueError: a negative or zero length, or one beyond any model.
  """
  if tokens < 1:
    raise ValueError(f"{name} is {tokens}; at least 1 token is needed")
  if tokens > MAX_TOKENS:
    raise ValueError(f"{name} is {tokens}; at most {MAX_TOKENS} is possible")
  return tokens


def limits_of(fields: Mapping[str, Any]) -> tuple[int, int]:
  """A row's `LIMITS` in picoseconds; 0 for one that is missing or empty.

  Raises:
    ValueError: not seconds above 0, or beyond `LONGEST_S`.
  """
  cancel_ps, deadline_ps = (_limit(name, fields.get(name)) for name in LIMITS)
  return cancel_ps, deadline_ps


def _limit(name: str, value: Any) -> int:
  text = "" if value is None else str(value).strip()
  if not text:
    return 0
  after_ps = seconds_ps(name, text)
  if not 0 < after_ps <= LONGEST_S * PS_PER_S:
    raise ValueError(f"{name} must be above 0 and at most {LONGEST_S}")
  return after_ps


def seconds_ps(name: str, text: str) -> int:
  """Picoseconds of seconds with a fraction, exactly.

  >>> seconds_ps("t", "1.5")
  1500000000000

  Raises:
    ValueError: not a number of seconds from 0 up.
  """
  match = _SECONDS.fullmatch(text)
  if not match:
    raise ValueError(
        f"{name} {text[:40]!r} is not a number of seconds from 0 up"
    )
  fraction = (match[2] or "").ljust(12, "0")[:12]
  return int(match[1]) * PS_PER_S + int(fraction)
