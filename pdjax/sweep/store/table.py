"""The summaries of an experiment's runs as one table."""

import csv
import io
from pathlib import Path
from typing import Any

from pdjax.sweep import jsonfile, runfiles
from pdjax.sweep.store.runs import runs_of


def rows_of(folder: Path) -> tuple[list[dict[str, Any]], list[str]]:
  """Summaries of all finished runs with their cells' names, by label.

  Also a line for each run that is left out because it is damaged.
  """
  rows, left_out = [], []
  for path in runs_of(folder):
    summary = jsonfile.read_object(path / "summary.json")
    wrong = runfiles.damage(path, by_content=False)
    if wrong or not summary:
      left_out.append(f"{path}: {wrong or 'summary.json cannot be read'}")
      continue
    status = runfiles.status_of(path)
    rows.append({
        "label": status["label"],
        "cell": status["cell"],
        "run": f"runs/{path.name}",
        "repeat": status["repeat"],
        **summary,
    })
  return sorted(rows, key=lambda row: (row["label"], row["cell"])), left_out


def csv_of(rows: list[dict[str, Any]]) -> str:
  """Rows as CSV, with a column for each name that any has."""
  names = dict.fromkeys(name for row in rows for name in row)
  text = io.StringIO()
  writer = csv.DictWriter(text, list(names), lineterminator="\n")
  writer.writeheader()
  for row in rows:
    writer.writerow(
        {
            name: jsonfile.canonical(value)
            if isinstance(value, (list, dict))
            else value
            for name, value in row.items()
        }
    )
  return text.getvalue()
