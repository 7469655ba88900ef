"""A run that differs from a finished one in its SLO alone: not served again.

Nothing that serves knows the SLO, so the log of the one is the log of the
other, and its metrics are made from it. That this gives what a run would have
given is checked on the old SLO first: its summary must come again, exactly.
"""

import dataclasses
import shutil
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.cli.uncollected import uncollected
from pdjax.config import Run
from pdjax.metrics import provenance
from pdjax.sweep import jsonfile, runfiles

_MADE_AGAIN = ("config.json", "conditions.json", "summary.json")
_FACTS = "provenance.json"


class NotExact(RuntimeError):
  """The old summary does not come again, so a new one cannot be trusted."""


def remake(run: Run, source: Path, folder: Path) -> None:
  """Writes the files of a run, made from a finished one.

  Args:
    run: equal to the finished one but for `slo`.
    source: the finished run's folder.
    folder: to write to.

  Raises:
    NotExact: the old summary is made in another way than now.
  """
  summary = _summary(run, source)
  for path in source.iterdir():
    if path.name not in (*_MADE_AGAIN, runfiles.STATUS):
      shutil.copyfile(path, folder / path.name)
  jsonfile.write(folder / "config.json", schema.tree_of(run))
  jsonfile.write(folder / "conditions.json", _conditions(run, source))
  jsonfile.write(folder / "summary.json", summary)
  told = jsonfile.read_object(source / _FACTS)
  jsonfile.write(
      folder / _FACTS,
      told | {"metrics_made": {"from": source.name, "at": provenance.now()}},
  )
  jsonfile.write(folder / runfiles.STATUS, {"metrics_from": source.name})


def _conditions(run: Run, source: Path) -> dict[str, Any]:
  from pdjax.metrics.conditions import slo_words

  told = jsonfile.read_object(source / "conditions.json")
  return told | {"contract": told["contract"] | {"slo": slo_words(run.slo)}}


def _summary(run: Run, source: Path) -> dict[str, Any]:
  from pdjax.eventfile import read_log
  from pdjax.metrics.flags import Facts
  from pdjax.metrics.requests import table_of
  from pdjax.metrics.summary import summarize

  old = jsonfile.read_object(source / "summary.json")
  old_tree = jsonfile.read_object(source / "config.json")
  names = [field.name for field in dataclasses.fields(Facts)]
  facts = Facts(**{name: old[name] for name in names if name in old})
  with uncollected():
    table = table_of(read_log(source / "events.parquet"), run)

  def made(run: Run) -> dict[str, Any]:
    summary = summarize(table, run, chips=old["chips"], facts=facts)
    return summary | schema.flat(schema.tree_of(run))

  again = made(schema.run_from_tree(old_tree))
  known = {name: old.get(name) for name in again}
  if jsonfile.canonical(again) != jsonfile.canonical(known):
    raise NotExact(f"{source}: its summary does not come again from its log")
  rest = {name: value for name, value in old.items() if name not in again}
  return rest | made(run)
