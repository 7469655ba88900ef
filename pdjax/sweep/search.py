"""The section `sweep.search` of a config: how the highest rate is looked for.

What is searched are the cases and the grid of the same sweep. What in them
contradicts the search is a line.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

from pdjax import fieldtypes
from pdjax.fieldtypes import SCALARS, shown
from pdjax.reads import SEED
from pdjax.sweep.spread import REPEAT, Sweep
from pdjax.unknown import known

SEEDS = tuple(range(8))
"""For results, where a config does not say `sweep.seeds`."""
_OWN = ("workload.rate", SEED, "workload.protocol", REPEAT)
_MAX_SEED = 2**63 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
  """Looks for the highest rate within the SLO, under `steady`."""

  tolerance: float = 0.05
  """The bracket is narrow enough when its ends differ by this share."""
  budget: int = 400
  """Runs that the designs of one family may take together in tuning."""
  tune_seeds: tuple[int, ...] = (1000, 1001)
  """Of the workload, for choosing designs; others than `sweep.seeds`."""
  doublings: int = 10
  """Steps up or down from the first rate at most."""


_WRONG = Search(budget=10**6)
"""In the place of one with mistakes, so that the rest can be checked."""


def search_of(tree: Any, sweep: Sweep, errors: list[str]) -> Search:
  """What a config says in `sweep.search`; adds a line for each mistake."""
  found: list[str] = []
  search = fieldtypes.convert(Search, tree, "sweep.search", found)
  if not found:
    found += _ranges(search)
    found += _seed_mistakes(search, sweep.seeds or SEEDS)
  found += _contradictions(sweep)
  errors += found
  return _WRONG if found else search


def designs_of(sweep: Sweep) -> Sweep:
  """The sweep over designs alone: the search sets the seeds."""
  return dataclasses.replace(sweep, seeds=())


def _ranges(search: Search) -> Iterator[str]:
  if not 0.001 <= search.tolerance <= 1:
    yield (
        "sweep.search.tolerance: must be from 0.001 to 1, got"
        f" {shown(search.tolerance)}"
    )
  for name, least, most in (("budget", 1, 10**6), ("doublings", 1, 30)):
    value = getattr(search, name)
    if not least <= value <= most:
      yield (
          f"sweep.search.{name}: must be from {least} to {most}, got"
          f" {shown(value)}"
      )


def _seed_mistakes(search: Search, seeds: tuple) -> Iterator[str]:
  if not all(map(known, seeds)):
    return
  for name, given in (
      ("sweep.seeds", seeds), ("sweep.search.tune_seeds", search.tune_seeds)
  ):
    if wrong := [seed for seed in given if not _is_seed(seed)]:
      yield f"{name}: expected seeds from 0 on, got {shown(wrong[0])}"
    elif len(set(given)) < len(given):
      yield f"{name}: a seed is there twice; equal runs are no replications"
    elif not given:
      yield f"{name}: is empty"
  if len(seeds) < 2:
    yield "sweep.seeds: a search needs 2 seeds at least; 8 for a claim"
  if both := sorted(set(filter(_is_seed, seeds)) & set(search.tune_seeds)):
    yield (
        f"sweep.search.tune_seeds: {both[0]} is in sweep.seeds too; what is"
        " chosen by some seeds is reported on others"
    )


def _is_seed(value: Any) -> bool:
  return SCALARS[int](value) and 0 <= value <= _MAX_SEED


def _contradictions(sweep: Sweep) -> Iterator[str]:
  """Fields that a search sets itself, swept beside it."""
  for part, fields in sweep.fields.items():
    for field in dict.fromkeys(fields):
      if field in _OWN and part != "sweep.seeds":
        yield f"{part}: {field} is what sweep.search sets itself; leave it out"
