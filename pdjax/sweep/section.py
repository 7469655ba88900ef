"""The section `sweep` of a config, read, and what in it contradicts itself.

What is wrong with a column or a case is a line; the field it was for is
unknown then, so that the rest of the config can be checked.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax import fieldtypes, schema
from pdjax.fieldtypes import shown
from pdjax.sweep.cells import Said
from pdjax.sweep.spread import Columns, Sweep
from pdjax.unknown import UNKNOWN

_PARTS = ("grid", "zip", "cases", "seeds")
_LISTS = (tuple, list, range)


def sweep_of(tree: Any, errors: list[str]) -> Sweep:
  """What varies; `tree` is what a config says in its section `sweep`."""
  if not isinstance(tree, Mapping):
    errors.append(f"sweep: expected a section, got {shown(tree)}")
    return Sweep()
  errors += [
      fieldtypes.unknown("sweep.", str(key), _PARTS)
      for key in tree
      if key not in _PARTS
  ]
  said = {key: tree[key] for key in _PARTS if tree.get(key) is not None}
  for key, value in said.items():
    if isinstance(value, (Mapping, *_LISTS)) and not value:
      errors.append(f"sweep.{key}: is empty; leave it out")
  sweep = Sweep(
      cases=_cases(said.get("cases", ()), errors),
      zip=_zip(said.get("zip", {}), errors),
      grid=_columns("sweep.grid", said.get("grid", {}), errors),
      seeds=_seeds(said.get("seeds", ()), errors),
  )
  errors += dict.fromkeys(_contradictions(sweep))
  return sweep


def fields_of(where: str, tree: Any, errors: list[str]) -> Said:
  """Values by field, nested or dotted; `where` they stand."""
  if not isinstance(tree, Mapping):
    errors.append(f"{where}: expected {{field: ...}}, got {shown(tree)}")
    return {}
  pairs = list(schema.leaves(tree))
  paths = [path for path, _ in pairs]
  errors += [
      f"{where}: {one} is said twice, as {one} and in {other}"
      for one, other in itertools.combinations(sorted(paths), 2)
      if schema.overlap(one, other)
  ]
  return dict(pairs)


def _columns(where: str, tree: Any, errors: list[str]) -> Columns:
  columns = fields_of(where, tree, errors)
  for field, values in columns.items():
    if not isinstance(values, _LISTS) or not values:
      errors.append(
          f"{where}.{field}: expected a tuple of values, got {shown(values)}"
      )
      columns[field] = (UNKNOWN,)
  return tuple((field, tuple(values)) for field, values in columns.items())


def _zip(tree: Any, errors: list[str]) -> Columns:
  columns = _columns("sweep.zip", tree, errors)
  counts = {field: len(values) for field, values in columns}
  if len(set(counts.values())) <= 1:
    return columns
  told = ", ".join(f"{field} {count}" for field, count in counts.items())
  errors.append(f"sweep.zip: fields need equally many values: {told}")
  return tuple((field, (UNKNOWN,)) for field, _ in columns)


def _seeds(seeds: Any, errors: list[str]) -> tuple:
  if isinstance(seeds, _LISTS):
    return tuple(seeds)
  errors.append(
      f"sweep.seeds: expected a tuple of integers, got {shown(seeds)}"
  )
  return (UNKNOWN,)


def _cases(tree: Any, errors: list[str]) -> tuple[tuple[str, Said], ...]:
  if isinstance(tree, Mapping):
    return tuple(
        (str(name), fields_of(f"sweep.cases.{name}", case, errors))
        for name, case in tree.items()
    )
  if not isinstance(tree, _LISTS):
    errors.append(f"sweep.cases: expected cases, got {shown(tree)}")
    return ()
  cases = [
      _case(f"sweep.cases[{index}]", case, errors)
      for index, case in enumerate(tree)
  ]
  names = [name for name, _ in cases]
  errors += [
      f"sweep.cases: {names.count(name)} cases are named {shown(name)}"
      for name in dict.fromkeys(names)
      if names.count(name) > 1
  ]
  return tuple(cases)


def _case(where: str, tree: Any, errors: list[str]) -> tuple[str, Said]:
  """One case of a tuple; `name` is its label, else what it sets."""
  if not isinstance(tree, Mapping) or "name" not in tree:
    fields = fields_of(where, tree, errors)
    return _name_of(fields) or where, fields
  name = tree["name"]
  if not isinstance(name, str) or not name.strip():
    errors.append(f"{where}.name: expected a label, got {shown(name)}")
    name = where
  rest = {key: value for key, value in tree.items() if key != "name"}
  return name, fields_of(where, rest, errors)


def _name_of(said: Said) -> str:
  return " ".join(
      f"{field.rpartition('.')[2]}={shown(value)}"
      if not isinstance(value, str) else f"{field.rpartition('.')[2]}={value}"
      for field, value in said.items()
  )


def _contradictions(sweep: Sweep) -> Iterator[str]:
  """Fields that two parts of a sweep both set."""
  parts = {
      "sweep.seeds": ["workload.seed"] if sweep.seeds else [],
      "sweep.zip": [field for field, _ in sweep.zip],
      "sweep.grid": [field for field, _ in sweep.grid],
      "sweep.cases": [field for _, said in sweep.cases for field in said],
  }
  for (one, fields), (other, others) in itertools.combinations(
      parts.items(), 2
  ):
    for field, again in itertools.product(fields, others):
      if schema.overlap(field, again):
        yield f"{one}: {field} is set by {other} too; say it once"
