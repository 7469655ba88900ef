"""The section `sweep` of a config, read, and what in it contradicts itself.

What is wrong with a column or a case is a line; the field it was for is
unknown then, so that the rest of the config can be checked.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax import fieldtypes, schema
from pdjax.config import ConfigError
from pdjax.fieldtypes import shown
from pdjax.sweep import axis, sample
from pdjax.sweep.cells import Said
from pdjax.sweep.spread import MAX_REPEAT, Columns, Sweep
from pdjax.sweep.where import Where, where_of
from pdjax.unknown import UNKNOWN

_PARTS = (
    "grid", "zip", "cases", "sample", "seeds", "repeats", "where", "order",
)
MAX_LABEL = 100
"""Characters of a case's name: a line of a table has room for them."""
ORDERS = ("given", "shuffled")
SEARCH = "search"
"""A part that is read by `pdjax.sweep.search`."""
_LISTS = (tuple, list, range)


def sweep_of(tree: Any, errors: list[str]) -> Sweep:
  """What varies; `tree` is what a config says in its section `sweep`."""
  if not isinstance(tree, Mapping):
    errors.append(f"sweep: expected a section, got {shown(tree)}")
    return Sweep()
  errors += [
      fieldtypes.unknown("sweep.", str(key), (*_PARTS, SEARCH))
      for key in tree
      if key not in (*_PARTS, SEARCH)
  ]
  said = {key: tree[key] for key in _PARTS if tree.get(key) is not None}
  for key, value in said.items():
    if isinstance(value, (Mapping, *_LISTS)) and not value:
      errors.append(f"sweep.{key}: is empty; leave it out")
  sweep = Sweep(
      cases=_cases(said.get("cases", ()), errors),
      zip=_zip(said.get("zip", {}), errors),
      sample=_sample(said.get("sample", {}), errors),
      grid=_columns("sweep.grid", said.get("grid", {}), errors),
      seeds=_seeds(said.get("seeds", ()), errors),
      repeats=_repeats(said.get("repeats", 0), errors),
      where=_where(said.get("where", ()), errors),
      order=_order(said.get("order"), errors),
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
    if isinstance(values, str):
      columns[field] = _from_text(where, field, values, errors)
    elif not isinstance(values, _LISTS) or not values:
      errors.append(
          f"{where}.{field}: expected a tuple of values, got {shown(values)}"
      )
      columns[field] = (UNKNOWN,)
  return tuple((field, tuple(values)) for field, values in columns.items())


def _from_text(
    where: str, field: str, text: str, errors: list[str]
) -> tuple:
  """An axis said as on the command line, such as 'log(1,64,7)'."""
  told: list[str] = []
  try:
    return axis.values_of(field, text, told)
  except ConfigError as error:
    told += error.errors
    return (UNKNOWN,)
  finally:
    errors += [f"{where}.{line}" for line in told]


def _zip(tree: Any, errors: list[str]) -> Columns:
  columns = _columns("sweep.zip", tree, errors)
  counts = {field: len(values) for field, values in columns}
  if len(set(counts.values())) <= 1:
    return columns
  told = ", ".join(f"{field} {count}" for field, count in counts.items())
  errors.append(f"sweep.zip: fields need equally many values: {told}")
  return tuple((field, (UNKNOWN,)) for field, _ in columns)


def _sample(tree: Any, errors: list[str]) -> Columns:
  """Points drawn from {"count": ..., "seed": ..., "fields": {...}}."""
  if not tree:
    return ()
  if not isinstance(tree, Mapping) or not {"count", "fields"} <= set(tree):
    errors.append(
        "sweep.sample: expected {'count': ..., 'fields': {field: 'log(1,64)',"
        f" ...}}}}, got {shown(tree)}"
    )
    return ()
  names = ("count", "fields", "seed")
  errors += [
      fieldtypes.unknown("sweep.sample.", str(key), names)
      for key in tree
      if key not in names
  ]
  count = sample.count_of("sweep.sample.count", tree["count"], errors)
  seed = tree.get("seed", 0)
  if not fieldtypes.SCALARS[int](seed) or seed < 0:
    errors.append(
        f"sweep.sample.seed: expected an integer from 0, got {shown(seed)}"
    )
    count = None
  said = fields_of("sweep.sample.fields", tree["fields"], errors)
  if not said:
    errors.append("sweep.sample.fields: names no field to draw")
    return ()
  space = {
      path: sample.source_of(path, value, errors)
      for path, value in said.items()
  }
  if count is None:
    return tuple((path, (UNKNOWN,)) for path in space)
  return sample.points(space, count, seed)


def _repeats(count: Any, errors: list[str]) -> int:
  if fieldtypes.SCALARS[int](count) and 0 <= count <= MAX_REPEAT:
    return count
  errors.append(
      f"sweep.repeats: expected a count up to {MAX_REPEAT}, got {shown(count)}"
  )
  return 0


def _where(said: Any, errors: list[str]) -> tuple[Where, ...]:
  texts = said if isinstance(said, _LISTS) else (said,)
  return tuple(
      where for text in texts for where in where_of("sweep.where", text, errors)
  )


def _order(order: Any, errors: list[str]) -> str | None:
  if order is None or order in ORDERS:
    return order
  errors.append(
      f"sweep.order: expected {' or '.join(ORDERS)}, got {shown(order)}"
  )
  return None


def _seeds(seeds: Any, errors: list[str]) -> tuple:
  if isinstance(seeds, str):
    return axis.seeds_of("sweep.seeds", seeds, errors)
  if isinstance(seeds, _LISTS):
    return tuple(seeds)
  errors.append(
      f"sweep.seeds: expected a tuple of integers or '0-4', got {shown(seeds)}"
  )
  return (UNKNOWN,)


def _cases(tree: Any, errors: list[str]) -> tuple[tuple[str, Said], ...]:
  if isinstance(tree, Mapping):
    return tuple(
        (
            _label("sweep.cases", str(name), errors),
            fields_of(f"sweep.cases.{name}", case, errors),
        )
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
    return name_of(fields) or where, fields
  name = _label(f"{where}.name", tree["name"], errors) or where
  rest = {key: value for key, value in tree.items() if key != "name"}
  return name, fields_of(where, rest, errors)


def _label(where: str, name: Any, errors: list[str]) -> str:
  """The name of a case, as tables have it; empty, with a line, if it is none.

  Args:
    where: it was said.
  """
  if not isinstance(name, str) or not name.strip():
    errors.append(f"{where}: expected a label, got {shown(name)}")
  elif not name.isprintable() or len(name) > MAX_LABEL:
    errors.append(
        f"{where}: expected a label of at most {MAX_LABEL} printable"
        f" characters, got {shown(name)}"
    )
  else:
    return name
  return ""


def name_of(said: Said) -> str:
  """What a case without a name is called: what it sets."""
  return " ".join(
      f"{field.rpartition('.')[2]}={_plain(value)}"
      for field, value in said.items()
  )


def _plain(value: Any) -> str:
  printable = isinstance(value, str) and value.isprintable()
  return value if printable else shown(value)


def _contradictions(sweep: Sweep) -> Iterator[str]:
  """Fields that two parts of a sweep both set."""
  for (one, fields), (other, others) in itertools.combinations(
      sweep.fields.items(), 2
  ):
    for field, again in itertools.product(fields, others):
      if schema.overlap(field, again):
        yield f"{one}: {field} is set by {other} too; say it once"
