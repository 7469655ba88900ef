"""The files of each format that results are exported to."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from pdjax.cli.uncollected import uncollected
from pdjax.config import ConfigError
from pdjax.eventfile import EventFileError, read_log
from pdjax.foreign import aiperf_writer, vllm_writer
from pdjax.foreign.served import Served
from pdjax.foreign.vllm import DETAILS
from pdjax.metrics.requests import table_of
from pdjax.results.found import Result
from pdjax.results.tables import Results
from pdjax.sweep import jsonfile


def served(result: Result) -> Served:
  """A run with its requests, made again from its log.

  Raises:
    ConfigError: the log cannot be read.
  """
  try:
    with uncollected():
      log = read_log(result.folder / "events.parquet")
      table = table_of(log, result.run).measured()
  except EventFileError as error:
    raise ConfigError([str(error)]) from error
  told = jsonfile.read_object(result.folder / "provenance.json")
  return Served(
      label=result.label, run=result.run, summary=result.summary, table=table,
      started=told.get("started"),
  )


def vllm(
    results: Sequence[Result], folder: Path, *, detailed: bool
) -> None:
  """`summary.json` of all runs, and a file of each."""
  rows = []
  for result in results:
    row = vllm_writer.result(served(result), detailed=detailed)
    jsonfile.write(folder / f"{result.folder.name}.json", row)
    rows.append({k: v for k, v in row.items() if k not in DETAILS})
  jsonfile.write(folder / "summary.json", rows)


def aiperf(results: Sequence[Result], folder: Path) -> None:
  """A folder a run, as AIPerf leaves one."""
  for result in results:
    inner = folder / result.folder.name
    inner.mkdir()
    text = aiperf_writer.csv_text(served(result))
    jsonfile.write_text(inner / "profile_export_aiperf.csv", text)


def csv(results: Sequence[Result], folder: Path) -> None:
  """A table of the runs, and one of the requests of each."""
  tables = Results(results)
  pyarrow.csv.write_csv(tables.runs, folder / "summary.csv")
  for result in results:
    one = pc.field("run") == result.folder.name
    requests = _without_lists(tables.requests.filter(one))
    pyarrow.csv.write_csv(
        requests, folder / f"{result.folder.name}.requests.csv"
    )


def _without_lists(table: pa.Table) -> pa.Table:
  """Workers as `0 1`: a CSV file has no lists."""
  words = [" ".join(map(str, each)) for each in table["workers"].to_pylist()]
  at = table.column_names.index("workers")
  return table.set_column(at, "workers", pa.array(words, pa.string()))


def parquet(results: Sequence[Result], folder: Path) -> None:
  """A table of the runs, and one of all their requests."""
  tables = Results(results)
  pyarrow.parquet.write_table(tables.runs, folder / "summary.parquet")
  pyarrow.parquet.write_table(tables.requests, folder / "requests.parquet")
