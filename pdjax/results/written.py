"""Whether results were written by this pdjax: another's are never guessed at.

A figure may be absent from another version's files, or be there and mean
something else. So they are refused, in one line that says who wrote them.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import pdjax
from pdjax import config, events, schema
from pdjax.sweep import jsonfile, runfiles

AGAIN = "make its runs again"
"""How every refusal ends, and none of damaged files."""


def refusal(
    folder: Path,
    *,
    asked: Mapping[str, Any] | None = None,
    conditions: Mapping[str, Any] | None = None,
    summary: Mapping[str, Any] | None = None,
) -> str:
  """Why a run's files are not this version's; empty if they are.

  Args:
    folder: the run's, whose version and log are looked at in any case.
    asked: what its `config.json` holds. So with the others; None is not looked
      at.
  """
  version = version_of(folder)
  if version not in (None, pdjax.__version__):
    return (
        f"written by pdjax {version}, and this is {pdjax.__version__}; {AGAIN}"
    )
  differences = (
      *_events(folder / "events.parquet"), *_config(asked),
      *_conditions(conditions), *_summary(summary),
  )
  if not differences:
    return ""
  return (
      f"written by another state of pdjax {version or 'of unknown version'}:"
      f" {differences[0]}; {AGAIN}"
  )


def outdated(given: str, left_out: Sequence[str]) -> tuple[str, ...]:
  """One line where the lines of all runs left out, `FOLDER: why`, say that
  another version wrote them."""
  if not left_out or not all(line.endswith(AGAIN) for line in left_out):
    return ()
  first = left_out[0].partition(": written by ")[2]
  runs = "" if len(left_out) == 1 else f"its {len(left_out)} runs were "
  return (f"{given}: {runs}written by {first}",)


def version_of(folder: Path) -> str | None:
  """The version that wrote a run; None where that is not told."""
  made_by = runfiles.status_of(folder).get("made_by")
  told = made_by.get("version") if isinstance(made_by, dict) else None
  if told is None:
    packages = jsonfile.read_object(folder / "provenance.json").get("packages")
    told = packages.get("pdjax") if isinstance(packages, dict) else None
  return None if told is None else str(told)


def _events(path: Path) -> Iterator[str]:
  """A log of another format; one that cannot be read is damaged."""
  try:
    found = (pq.read_schema(path).metadata or {}).get(b"pdjax.events", b"")
  except (pa.ArrowException, OSError):
    return
  if found != str(events.FORMAT_VERSION).encode():
    yield (
        f"{path.name} is in format {found.decode() or 'unknown'}, and this"
        f" pdjax reads {events.FORMAT_VERSION}"
    )


def _config(tree: Mapping[str, Any] | None) -> Iterator[str]:
  """Fields that this version does not know, or always writes."""
  if tree is None:
    return
  run, errors = schema.read(tree)
  if errors:
    more = f" (and {len(errors) - 1} more)" if errors[1:] else ""
    yield f"config.json: {errors[0]}{more}"
    return
  ours = schema.flat(schema.tree_of(run))
  theirs = schema.flat(tree)
  yield from (
      f"config.json has no {name}" for name in ours
      if name not in theirs and not _within(name, theirs)
  )


def _within(name: str, names: Mapping[str, Any]) -> bool:
  """Whether a section above a field is null, so that the field is not told."""
  parts = name.split(".")
  return any(".".join(parts[:n]) in names for n in range(1, len(parts)))


def _conditions(told: Mapping[str, Any] | None) -> Iterator[str]:
  if told is None:
    return
  for part, names in _parts().items():
    found = told.get(part)
    if not isinstance(found, dict):
      yield f"conditions.json has no {part}"
      continue
    for name in names - found.keys():
      yield f"conditions.json has no {part}.{name}"
    if part == "contract":
      for name in found.keys() - names:
        yield f"conditions.json has an unknown {part}.{name}"


def _summary(told: Mapping[str, Any] | None) -> Iterator[str]:
  if told is None:
    return
  for name in _figures():
    if name not in told:
      yield f"summary.json has no {name}"


@functools.cache
def _parts() -> dict[str, set[str]]:
  """What conditions hold, of whatever run."""
  from pdjax.metrics.conditions import conditions

  found = conditions(config.Run(), {})
  return {name: set(found[name]) for name in ("contract", "design")}


@functools.cache
def _figures() -> tuple[str, ...]:
  """What a summary holds of whatever run: one of no requests has it all.

  Figures of a role's workers, `[C]`, are there where the role is.
  """
  from pdjax.events import Log
  from pdjax.metrics.requests import table_of
  from pdjax.metrics.summary import summarize

  run = config.Run()
  made = summarize(table_of(Log([]), run), run)
  return tuple(name for name in made if "[" not in name)
