"""The decorator of small values that a run makes by the million.

Frozen to the type checker alone: a frozen dataclass sets each field through
`object.__setattr__`, which makes it about six times as slow to build. Nobody
assigns to a field all the same; the log takes values down, not objects.
"""

import dataclasses
import typing

T = typing.TypeVar("T")


@typing.dataclass_transform(frozen_default=True)
def entry(kind: type[T]) -> type[T]:
  """A dataclass with slots, equality and a hash over its fields."""
  return dataclasses.dataclass(slots=True, unsafe_hash=True)(kind)
