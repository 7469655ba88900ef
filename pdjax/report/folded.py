"""Runs that differ in their seed alone, as one run of means.

Numbers are means over the seeds, percentiles too: means of each seed's own. A
figure that any seed lacks is none of the mean's. A sentence says of how many
seeds it holds.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from pdjax.report.designs import Seeds, designs_of, label_of
from pdjax.report.groups import ReportedRun, unequal

_SENTENCES = ("flags", "notes")
_DRAWN = "content_sha256"
"""What is in a contract only since a seed draws it."""


def folded(runs: Sequence[ReportedRun]) -> list[ReportedRun]:
  """A run for each design; those without other seeds, and equal runs again,
  stay as they are. In the order given."""
  found: list[ReportedRun] = []
  of = {
      id(run): each for each in _designs(runs) if len(each) > 1
      for run in each.values()
  }
  done: set[int] = set()
  for run in runs:
    each = of.get(id(run))
    if each is None:
      found.append(run)
    elif id(each) not in done:
      done.add(id(each))
      found.append(_mean(each))
  return found


def told_apart(runs: Sequence[ReportedRun]) -> list[str]:
  """Contract fields in which any differs from the first; the seed by its name
  where that is what drew other requests."""
  fields = unequal(runs)
  seeds = {
      run.config["workload"].get("seed") if run.config else None for run in runs
  }
  if _DRAWN in fields and len(seeds) > 1:
    fields = [field for field in fields if field != _DRAWN] + ["workload.seed"]
  return sorted(fields)


def _designs(runs: Sequence[ReportedRun]) -> list[Seeds]:
  """Not of designs with equal runs: those tell the noise."""
  with_config = [run for run in runs if run.config is not None]
  return [
      each for each in designs_of(runs)
      if not any(
          run.config == other.config and run is not other
          for run in each.values() for other in with_config
      )
  ]


def _mean(each: Seeds) -> ReportedRun:
  """Under the conditions of the first seed."""
  runs = list(each.values())
  seeds = sorted(each)
  first, rows = runs[0], [run.summary for run in runs]
  notes = [f"means over {len(each)} seeds ({_span(seeds)})"]
  return dataclasses.replace(
      first, label=label_of(each), summary=_summary(rows),
      conditions=first.conditions | {
          "notes": [*notes, *first.conditions.get("notes", ())],
      } if isinstance(first.conditions, dict) else first.conditions,
  )


def _span(seeds: Sequence[int]) -> str:
  whole = list(range(seeds[0], seeds[-1] + 1))
  if list(seeds) == whole:
    return f"{seeds[0]} to {seeds[-1]}"
  return ", ".join(map(str, seeds))


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
  found = {
      name: _value([row.get(name) for row in rows]) for name in rows[0]
  }
  found["refused"] = sorted({
      name for row in rows for name in row.get("refused", ())
  })
  for field in _SENTENCES:
    counts = Counter(
        text for row in rows for text in dict.fromkeys(row.get(field, ()))
    )
    found[field] = [
        text if count == len(rows) else f"{text} ({count} of {len(rows)} seeds)"
        for text, count in counts.items()
    ]
  return found


def _value(values: Sequence[Any]) -> Any:
  """The mean of numbers, what all share of others; else None."""
  if all(type(value) in (int, float) for value in values):
    mean = fmean(values)
    return int(mean) if mean == int(mean) else mean
  return values[0] if all(value == values[0] for value in values) else None
