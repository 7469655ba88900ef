"""The value of a field for which something wrong was said.

Checks go on beside a mistake: the field holds `UNKNOWN`, which may be handed on
but not looked at. A check that looks is withheld, since what it would say may
only follow from the mistake; every other check speaks.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

Asked = TypeVar("Asked")


class Withheld(BaseException):
  """Somebody looked at an unknown value.

  No `Exception`, so that code which answers for whatever a user's module
  raises lets it pass.
  """


class Unknown:
  """Handed on, it is a value like any other; looked at, it raises Withheld."""

  __slots__ = ()

  def _look(self, *_: Any) -> NoReturn:
    raise Withheld

  __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = _look
  __bool__ = __int__ = __float__ = __index__ = __str__ = __repr__ = _look
  __format__ = __iter__ = __len__ = __contains__ = __getitem__ = _look
  __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _look
  __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _look
  __mod__ = __rmod__ = __neg__ = __pow__ = __rpow__ = __round__ = _look

  def __getattr__(self, name: str) -> NoReturn:
    # Python and its tools ask any object for such names.
    raise AttributeError(name) if name.startswith("__") else Withheld

  def __copy__(self) -> "Unknown":
    return self

  def __deepcopy__(self, _: Any) -> "Unknown":
    return self


UNKNOWN: Any = Unknown()


def told(check: Callable[[Asked], Iterable[str]], asked: Asked) -> list[str]:
  """The lines of a check, up to where it looks at an unknown value."""
  lines: list[str] = []
  try:
    for line in check(asked):
      lines.append(line)
  except Withheld:
    pass
  return lines


def look(*values: Any) -> None:
  """Raises Withheld if one of the values is unknown."""
  if not all(map(known, values)):
    raise Withheld


def known(value: Any) -> bool:
  """Whether a value may be looked at; what it holds may not."""
  return value is not UNKNOWN
