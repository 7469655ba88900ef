"""Results as tables, for notebooks: `pdjax.load`."""

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pdjax.config import ConfigError
from pdjax.results.found import Result, results_in


class Results:
  """The finished runs of a folder. Tables are read when they are asked for."""

  def __init__(self, results: Sequence[Result], left_out: Sequence[str] = ()):
    self._results = list(results)
    self.left_out = tuple(left_out)
    """A line for each run that is not here because it is damaged."""

  def __len__(self) -> int:
    return len(self._results)

  def __repr__(self) -> str:
    left_out = f", {len(self.left_out)} left out" if self.left_out else ""
    return f"Results({len(self)} runs{left_out})"

  @functools.cached_property
  def runs(self) -> pa.Table:
    """A row a run: `run`, `label`, the summary and the config's fields.

    docs/metrics.md and docs/config.md define the columns. What is no number or
    word is JSON text.
    """
    return rows_table([
        {"run": one.folder.name, "label": one.label, **one.summary}
        for one in self._results
    ])

  @functools.cached_property
  def requests(self) -> pa.Table:
    """A row a request: `run`, `label` and the columns of requests.parquet."""
    tables = []
    for one in self._results:
      table = _read(one)
      for at, (name, word) in enumerate(
          (("run", one.folder.name), ("label", one.label))
      ):
        column = pa.array([word] * len(table), pa.string())
        table = table.add_column(at, name, column)
      tables.append(table.replace_schema_metadata(None))
    return pa.concat_tables(tables, promote_options="default")

  @property
  def conditions(self) -> list[Mapping[str, Any]]:
    """Contract, design and workload of each run, in the order of `runs`."""
    return [one.conditions for one in self._results]


def load(folder: str) -> Results:
  """The finished runs of a folder; see `pdjax.load`."""
  return Results(*results_in(str(folder)))


def _read(result: Result) -> pa.Table:
  path = result.folder / "requests.parquet"
  try:
    return pq.read_table(path)
  except (pa.ArrowException, OSError) as error:
    raise ConfigError([f"{path}: cannot be read: {error}"]) from None


def rows_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
  """Rows with different fields as one table; what a row lacks is null."""
  names = dict.fromkeys(name for row in rows for name in row)
  return pa.table({
      name: _column([row.get(name) for row in rows]) for name in names
  })


def _column(values: list[Any]) -> pa.Array:
  if not any(isinstance(value, dict | list) for value in values):
    try:
      return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
      pass  # a number here and a word there
  return pa.array([
      None if value is None else json.dumps(value) for value in values
  ], pa.string())
