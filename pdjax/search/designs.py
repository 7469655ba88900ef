"""Designs of a search, and which values of the best one end an axis."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pdjax.search.bracket import rounded

Family = Literal["colocated", "disaggregated"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design:
  """One way to serve, of those that a rival is compared at its best of."""

  number: int
  """Among all designs of the experiment."""
  label: str
  chips: int
  """Of all its pools."""
  values: Mapping[str, Any]
  """What was varied, as the run has it."""

  def rate_at(self, per_chip: float) -> float:
    """Requests per second on all chips."""
    return rounded(per_chip * self.chips)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rival:
  """A name in the comparison, and the designs it may take."""

  name: str
  family: Family
  designs: tuple[Design, ...]


def edges(best: Design, designs: Sequence[Design]) -> list[str]:
  """A line for each number of the best design that ends what was tried."""
  return [
      line
      for path, value in _numbers(best.values)
      for line in _edge(path, value, [dict(_flat(d.values)) for d in designs])
  ]


def _edge(
    path: str, value: float, tried: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
  values = [one.get(path) for one in tried]
  numbers = [float(v) for v in values if v is not None and _is_number(v)]
  if min(numbers) == max(numbers):
    return
  if value == min(numbers) and value != 1:
    yield f"{path}={value:g} is the smallest tried"
  # Unsaid means without a limit: nothing lies beyond.
  if value == max(numbers) and None not in values:
    yield f"{path}={value:g} is the largest tried"


def _numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
  return ((path, v) for path, v in _flat(values) if _is_number(v))


def _flat(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
  """Values by path, those of each role by themselves."""
  for path, value in values.items():
    if isinstance(value, Mapping):
      yield from ((f"{path}.{role}", inner) for role, inner in value.items())
    else:
      yield path, value


def _is_number(value: Any) -> bool:
  return isinstance(value, (int, float)) and not isinstance(value, bool)
