"""A finished run as a report reads it: said at once, its log only on demand."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pdjax import config
from pdjax.events import Log
from pdjax.report.groups import ReportedRun


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Record(ReportedRun):
  """A run's files."""

  folder: Path
  asked: config.Run
  """Its config."""
  repeat: int = 0
  provenance: Mapping[str, Any] = dataclasses.field(default_factory=dict)

  @property
  def kind(self) -> str:
    return self.summary["kind"]

  @property
  def doubtful(self) -> bool:
    return bool(self.summary.get("doubtful"))

  @property
  def contract(self) -> Mapping[str, Any]:
    return self.conditions["contract"]

  def tree(self) -> Mapping[str, Any]:
    """The config as it is in the file."""
    return self.config or {}

  def requests(self) -> dict[str, np.ndarray]:
    """Columns of the measured requests of `requests.parquet`, without lists.

    Nulls are masked.

    Raises:
      ConfigError: the file cannot be read.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = self.folder / "requests.parquet"
    try:
      table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
      raise config.ConfigError([f"{path}: cannot be read: {error}"]) from error
    columns = {}
    for name in table.column_names:
      column = table[name].combine_chunks()
      if name == "workers":
        continue
      if name in ("state", "measured"):
        columns[name] = np.array(column.to_pylist())
        continue
      empty = column.is_null().to_numpy(zero_copy_only=False)
      values = column.fill_null(0).to_numpy(zero_copy_only=False)
      columns[name] = np.ma.masked_array(values, empty)
    measured = columns["measured"].astype(bool)
    return {name: values[measured] for name, values in columns.items()}

  def log(self) -> Log:
    """The event log, entry by entry; long runs take seconds.

    Raises:
      EventFileError: it cannot be read.
    """
    from pdjax.eventfile import read_log

    return read_log(self.folder / "events.parquet")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Failed:
  """A cell that did not become a run."""

  label: str
  message: str
  folder: Path
