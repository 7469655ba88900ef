"""A sweep spread into cells: one resolved run each, with equal ones merged.

cells = cases x zip x grid x seeds, later ones over earlier ones, all over the
experiment's own fields. A field that a cell's strategy never reads is dropped
from the cell; what then is equal is one cell. `repeat` may be swept like a
field: it changes nothing but the identity, for noise floors.
"""

import copy
import dataclasses
import functools
import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pdjax import checks, config, reads, schema
from pdjax.config import Run
from pdjax.sweep import jsonfile

Said = dict[str, Any]
"""Values by dotted path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sweep:
  """What varies. An empty sweep is one cell."""

  cases: tuple[tuple[str, Said], ...] = ()
  """(name, fields); the name is the label of the case's cells."""
  zip: tuple[tuple[str, tuple], ...] = ()
  """Fields that vary together: equal numbers of values."""
  grid: tuple[tuple[str, tuple], ...] = ()
  seeds: tuple[int, ...] = ()
  """Of the workload."""

  def __bool__(self) -> bool:
    return bool(self.cases or self.zip or self.grid or self.seeds)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
  """One run of one resolved config."""

  run: Run
  case: str = ""
  swept: Said = dataclasses.field(default_factory=dict)
  """The values that tell it from its neighbours."""
  repeat: int = 0
  inputs: tuple[str, ...] = ()
  """Content hashes of what the config only names."""

  @functools.cached_property
  def id(self) -> str:
    """SHA-256 of the canonical config; paths count by content."""
    tree = schema.tree_of(self.run)
    if self.inputs:
      tree["workload"]["path"] = None
      if self.run.model.weights not in config.NAMED_WEIGHTS:
        tree["model"]["weights"] = None
    identity = {"config": tree, "inputs": self.inputs, "repeat": self.repeat}
    return hashlib.sha256(jsonfile.canonical(identity).encode()).hexdigest()

  @property
  def label(self) -> str:
    """How tables name it."""
    short = _short_names(self.swept)
    parts = [f"{short[path]}={_word(v)}" for path, v in self.swept.items()]
    return " ".join(filter(None, (self.case, *parts))) or (
        self.run.strategy.kind
    )

  @property
  def slug(self) -> str:
    """The label as a file name: never hidden, never too long."""
    name = re.sub(r"[^\w.=+-]+", ",", self.label).strip(",").lstrip(".-")
    return name.encode()[:80].decode(errors="ignore") or "cell"

  @property
  def folder_name(self) -> str:
    return f"{self.slug}-{self.id[:12]}"


@dataclasses.dataclass(frozen=True)
class Cells:
  """The distinct cells of a sweep, in order."""

  cells: tuple[Cell, ...]
  merged: int
  """Combinations that equalled an earlier one."""


def spread(
    tree: Mapping,
    sweep: Sweep,
    inspect: Callable[[Run], Iterable[str]] = lambda run: (),
    doubtful: Iterable[str] = (),
    unknown_names: Callable[[Run], Iterable[str]] = lambda run: (),
) -> tuple[tuple[Cell, ...], list[str]]:
  """All cells of an experiment, equal ones too, and a line for each mistake.

  `inspect` says what is wrong with a run outside its config. Sections in
  `doubtful` already have mistakes: what would follow from them is not said.
  `unknown_names` says what is wrong by itself, whatever else is.
  """
  built = [
      _Built(tree, case, said, inspect, doubtful, unknown_names)
      for case, said in _combinations(sweep)
  ]
  errors = _mistakes(built) + _vain(built, single=not sweep)
  return tuple(one.cell() for one in built), errors


def section_of(line: str) -> str:
  """The section that a mistake's line is about."""
  return line.partition(":")[0].partition(".")[0]


def distinct(cells: Iterable[Cell]) -> Cells:
  """Merges equal cells into the first of them."""
  cells = tuple(cells)
  kept = {cell.id: cell for cell in reversed(cells)}
  first = tuple(cell for cell in cells if kept[cell.id] is cell)
  return Cells(first, len(cells) - len(first))


def _combinations(sweep: Sweep) -> Iterator[tuple[str, Said]]:
  cases = sweep.cases or (("", {}),)
  zipped = list(_zipped(sweep.zip)) or [{}]
  names = [path for path, _ in sweep.grid]
  grids = [
      dict(zip(names, values, strict=True))
      for values in itertools.product(*(values for _, values in sweep.grid))
  ]
  seeds = [{"workload.seed": seed} for seed in sweep.seeds] or [{}]
  for (name, said), *rest in itertools.product(cases, zipped, grids, seeds):
    varied: Said = {}
    for part in rest:
      varied |= part
    yield name, {"": said, **varied}


def _zipped(columns: Sequence[tuple[str, tuple]]) -> Iterator[Said]:
  names = [path for path, _ in columns]
  for values in zip(*(values for _, values in columns), strict=True):
    yield dict(zip(names, values, strict=True))


class _Built:
  """One combination on its way to a cell."""

  def __init__(
      self,
      tree: Mapping,
      case: str,
      said: Said,
      inspect: Callable[[Run], Iterable[str]],
      doubtful: Iterable[str],
      unknown_names: Callable[[Run], Iterable[str]],
  ):
    self.case, self.varied = case, dict(said)
    base = self.varied.pop("")
    self.tree = copy.deepcopy(dict(tree))
    for path, value in (base | self.varied).items():
      schema.put(self.tree, path, value)
    self.repeat = self.tree.pop("repeat", 0)
    self.said = schema.said(self.tree)
    run, self.errors = schema.read(self.tree)
    self.doubtful = {*doubtful, *map(section_of, self.errors)}
    self.vain = {
        path: reason
        for path, reason in reads.vain(run, self.said).items()
        if section_of(path) not in self.doubtful
    }
    for path in self.vain:
      schema.drop(self.tree, path)
    self.run = reads.resolved(schema.read(self.tree)[0])
    self.errors += unknown_names(self.run)
    self.errors += self._checked(inspect)

  def _checked(self, inspect: Callable[[Run], Iterable[str]]) -> list[str]:
    lines = checks.out_of_range(self.run)
    if not isinstance(self.repeat, int) or self.repeat < 0:
      lines.append(f"repeat: expected a count, got {self.repeat!r}")
    known = {line.partition(":")[0] for line in lines}
    more = [*checks.problems(self.run), *inspect(self.run)]
    return lines + [
        line
        for line in more
        if section_of(line) not in self.doubtful
        and line.partition(":")[0] not in known
    ]

  def cell(self) -> Cell:
    # The simulator repeats itself exactly: its repeats are one cell.
    repeat = self.repeat if self.run.backend.kind == "jax" else 0
    swept = {p: v for p, v in self.varied.items() if p not in self.vain}
    if not repeat:
      swept.pop("repeat", None)
    return Cell(run=self.run, case=self.case, swept=swept, repeat=repeat)


def _mistakes(built: list[_Built]) -> list[str]:
  """Mistakes of all cells, each once."""
  lines = dict.fromkeys(line for one in built for line in one.errors)
  return [_placed(line, built) for line in lines]


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


def _placed(line: str, built: list[_Built]) -> str:
  """Says in which cell, when not in all."""
  where = [one for one in built if line in one.errors]
  if len(where) == len(built):
    return line
  names = [f"{path}={value}" for path, value in where[0].varied.items()]
  cell = " ".join(filter(None, (where[0].case, *names)))
  return f"{line} (in cell {cell})"


def _short_names(paths: Iterable[str]) -> dict[str, str]:
  """The last name of each path, or all of it where two end alike."""
  lasts = [path.rpartition(".")[2] for path in paths]
  return {
      path: path if lasts.count(last) > 1 else last
      for path, last in zip(paths, lasts, strict=True)
  }


def _word(value: Any) -> str:
  if isinstance(value, (tuple, list)):
    return ",".join(map(_word, value))
  return f"{value:g}" if isinstance(value, float) else str(value)
