"""A sweep spread into cells: combinations, and all that is wrong with them.

cells = cases x zip x sample x grid x seeds x repeats, later ones over earlier
ones, all over the experiment's own fields; of these, the ones that `where`
keeps. A field that a cell's strategy never reads is dropped from the cell; what
then is equal is one cell. `repeat` may be swept like a field: it changes
nothing but the identity, for noise floors.
"""

import dataclasses
import itertools
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pdjax import checks, reads, schema
from pdjax.checks import Check
from pdjax.fieldtypes import SCALARS, shown
from pdjax.reads import SEED
from pdjax.sweep.cells import Cell, Said
from pdjax.sweep.only import Only, select
from pdjax.sweep.where import Where, meeting
from pdjax.unknown import Withheld, known

REPEAT = "repeat"
"""Varies like a field, but is none: the number of an equal run."""
MAX_REPEAT = 1000
MAX_CELLS = 10_000

Columns = tuple[tuple[str, tuple], ...]
"""Values by field."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
  """What varies. An empty sweep is one cell."""

  cases: tuple[tuple[str, Said], ...] = ()
  """(name, fields); the name is the label of the case's cells."""
  zip: Columns = ()
  """Fields that vary together: equal numbers of values."""
  sample: Columns = ()
  """Points drawn from a space: they vary together like a zip."""
  grid: Columns = ()
  seeds: tuple[int, ...] = ()
  """Of the workload."""
  repeats: int = 0
  """How often each cell is run; 0 where nothing is said."""
  where: tuple[Where, ...] = ()
  """What each cell must meet."""
  order: str | None = None
  """`given` or `shuffled`; None leaves it to the kind of cell."""

  def __bool__(self) -> bool:
    return bool(
        self.cases or self.zip or self.sample or self.grid or self.seeds
        or self.repeats
    )

  @property
  def fields(self) -> dict[str, list[str]]:
    """The fields that each part sets, by the part's name."""
    return {
        "sweep.repeats": [REPEAT] if self.repeats else [],
        "sweep.seeds": [SEED] if self.seeds else [],
        "sweep.zip": [field for field, _ in self.zip],
        "sweep.sample": [field for field, _ in self.sample],
        "sweep.grid": [field for field, _ in self.grid],
        "sweep.cases": [field for _, said in self.cases for field in said],
    }


def spread(
    tree: Mapping,
    sweep: Sweep,
    asked: Iterable[Check] = checks.CHECKS,
    only: Only = (),
) -> tuple[tuple[Cell, ...], list[str]]:
  """The cells of an experiment, equal ones too, and a line for each mistake.

  Cells that `only` or `where` leaves out are not checked for more than types.
  Where there is a mistake no cell comes back.
  """
  count = _count(sweep)
  if count > MAX_CELLS:
    return (), [f"sweep: {count} cells; at most {MAX_CELLS} are possible"]
  built = [_Built(tree, *combined) for combined in _combinations(sweep)]
  met, errors = meeting(built, sweep.where)
  chosen, unmet = select(met, only) if met else ([], [])
  errors += unmet
  for one in built if errors else chosen:
    one.check(asked)
  errors += _mistakes(built) + _vain(built, single=not sweep)
  return () if errors else _cells(chosen), errors


def _cells(chosen: Iterable["_Built"]) -> tuple[Cell, ...]:
  try:
    return tuple(one.cell() for one in chosen)
  except Withheld:  # whoever found the mistake has told it
    return ()


def _count(sweep: Sweep) -> int:
  zipped = [len(values) for _, values in (*sweep.zip[:1], *sweep.sample[:1])]
  grids = [len(values) for _, values in sweep.grid]
  more = [len(part) for part in (sweep.cases, sweep.seeds) if part]
  return math.prod([*zipped, *grids, *more, sweep.repeats or 1])


def _combinations(sweep: Sweep) -> Iterator[tuple[str, Said, Said]]:
  """(case, what it says, what varies beside it) of each."""
  cases = sweep.cases or (("", {}),)
  zipped = list(_zipped(sweep.zip)) or [{}]
  drawn = list(_zipped(sweep.sample)) or [{}]
  names = [path for path, _ in sweep.grid]
  grids = [
      dict(zip(names, values, strict=True))
      for values in itertools.product(*(values for _, values in sweep.grid))
  ]
  seeds = [{SEED: seed} for seed in sweep.seeds] or [{}]
  repeats = [{REPEAT: number} for number in range(sweep.repeats)] or [{}]
  for (name, said), *rest in itertools.product(
      cases, zipped, drawn, grids, seeds, repeats
  ):
    varied: Said = {}
    for part in rest:
      varied |= part
    yield name, said, varied


def _zipped(columns: Columns) -> Iterator[Said]:
  names = [path for path, _ in columns]
  for values in zip(*(values for _, values in columns), strict=True):
    yield dict(zip(names, values, strict=True))


KERNELS_VARIABLE = "PDJAX_KERNELS"
"""Goes before what a config says of `engine.kernels` on real devices. Here, so
that it is part of what a run was asked for, and of its identity."""


def _with_kernels(tree: schema.Tree) -> None:
  kernels = os.environ.get(KERNELS_VARIABLE)
  if kernels and dict(schema.leaves(tree)).get("backend.kind") == "jax":
    schema.put(tree, "engine.kernels", kernels)


class _Built:
  """One combination on its way to a cell."""

  def __init__(self, tree: Mapping, case: str, said: Said, varied: Said):
    self.case, self.varied = case, varied
    self.tree = schema.copied(tree)
    for path, value in (said | varied).items():
      schema.put(self.tree, path, schema.copied(value))
    _with_kernels(self.tree)
    self.repeat = self.tree.pop(REPEAT, 0)
    there = filter(schema.exists, schema.said(self.tree))
    self.said = list(dict.fromkeys(map(reads.unit, there)))
    run, self.errors = schema.read(self.tree)
    self.vain = reads.vain(run, self.said)
    for path in self.vain:
      schema.drop(self.tree, path)
    self.run = reads.resolved(schema.read(self.tree)[0])

    if known(self.repeat) and not _is_repeat(self.repeat):
      self.errors.append(
          f"{REPEAT}: expected a count up to {MAX_REPEAT},"
          f" got {shown(self.repeat)}"
      )

  def check(self, asked: Iterable[Check]) -> None:
    """Adds to `errors` what is wrong with the run."""
    self.errors += checks.mistakes(self.run, asked)

  @property
  def name(self) -> str:
    """In messages: the case and what varies."""
    varied = [
        f"{path}={shown(value)}"
        for path, value in self.varied.items()
        if known(value)
    ]
    return " ".join(filter(None, (self.case, *varied)))

  def value(self, path: str) -> Any:
    """What a reader would tell it by: a field's value, `case` or `repeat`."""
    own = {"case": self.case, REPEAT: self.repeat}
    return own[path] if path in own else schema.value_at(self.run, path)

  def cell(self) -> Cell:
    # The simulator repeats itself exactly: its repeats are one cell.
    repeat = self.repeat if self.run.backend.kind == "jax" else 0
    swept = {
        path: value
        for path, value in self.varied.items()
        if reads.unit(path) not in self.vain
    }
    if not repeat:
      swept.pop(REPEAT, None)
    return Cell(run=self.run, case=self.case, swept=swept, repeat=repeat)


def _is_repeat(value: Any) -> bool:
  return SCALARS[int](value) and 0 <= value <= MAX_REPEAT


def _mistakes(built: list[_Built]) -> list[str]:
  """Mistakes of all cells, each once, with a cell's name if not all have it."""
  places: dict[str, list[_Built]] = {}
  for one in built:
    for line in dict.fromkeys(one.errors):
      places.setdefault(line, []).append(one)
  return [
      line + ("" if len(where) == len(built) else f" (in cell {where[0].name})")
      for line, where in places.items()
  ]


def _vain(built: list[_Built], *, single: bool) -> list[str]:
  """A line for each field that no cell reads."""
  read = {path for one in built for path in one.said if path not in one.vain}
  what = "does not apply" if single else "applies to no cell of the sweep"
  lines = {
      path: f"{path}: {what}: {reason}"
      for one in built
      for path, reason in one.vain.items()
      if path not in read
  }
  return list(lines.values())


