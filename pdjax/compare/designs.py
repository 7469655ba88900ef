"""Both designs in words: what differs, what one side alone tells, and the rest.

A claim tells little of its designs. What it leaves out is not known, so it
makes no difference between the two that could be named.
"""

from collections.abc import Iterator
from typing import Any, Final

from pdjax.compare.rival import Rival
from pdjax.compare.sides import indented, short, two, word
from pdjax.config import DEGREES

_UNTOLD: Final = "not told"


def designs(a: Rival, b: Rival) -> Iterator[str]:
  """What differs in two lines a field, all else in a line a kind."""
  yield "designs"
  values = {
      field: (_value(a, field), _value(b, field))
      for field in dict.fromkeys([*a.design, *b.design])
  }
  for field, (ours, theirs) in values.items():
    if ours != theirs and _UNTOLD not in (ours, theirs):
      yield from two(field, ours, theirs)
  for title, told in (
      ("both", {f: x for f, (x, y) in values.items() if x == y}),
      ("told of A alone", {f: x for f, (x, y) in values.items()
                           if x != y == _UNTOLD}),
      ("told of B alone", {f: y for f, (x, y) in values.items()
                           if y != x == _UNTOLD}),
  ):
    words = [f"{f} {word(short(v))}" for f, v in told.items() if _says(v)]
    if words:
      yield from indented(f"{title}: {'; '.join(words)}")


def _says(value: Any) -> bool:
  return value is not None and value != {} and value != _UNTOLD


def _value(rival: Rival, field: str) -> Any:
  """Of a design; a run's ways of splitting a worker are those of its pools,
  which claims may give for all workers at once."""
  if field in rival.design:
    return rival.design[field]
  if rival.claim is not None:
    return _UNTOLD
  if field in DEGREES:
    each = [pool.get(field) or 1 for pool in rival.design.get("pools", ())]
    return each[0] if len(set(each)) == 1 else each
  return None
