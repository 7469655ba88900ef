"""`python -m pdjax.diagnose`: where the time goes, why, and what to change."""

import csv
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pdjax import inputfile
from pdjax.cli import command
from pdjax.cli.command import MISTAKE, OK
from pdjax.cli.replay import runs_in
from pdjax.config import ConfigError
from pdjax.diagnose.finding import Finding
from pdjax.fieldtypes import near
from pdjax.sweep import jsonfile

USAGE = """\
Says where the time of a run goes, with the evidence, and what to change.

  python -m pdjax.diagnose X... [--json]

X is a folder of ours (a run, an experiment, or one with blocks), the JSON of
vLLM's benchmark (better with --save-detailed), AIPerf's CSV or JSON summary,
guidellm's report, or a CSV with one request a row: ttft_ms, and what there is
of tpot_ms, e2el_ms, arrival_s, sent_s, prompt_tokens, output_tokens.

  --json    prints a list of findings, one a run
  --help    shows this

Where the data does not decide it says `cannot_tell`, and why. The rules are in
docs/diagnose.md. Exit status: 0 told, 2 something given cannot be read: a line
says what, and the rest is told.
"""

_FORMATS = (
    "a vLLM benchmark (mean_ttft_ms, ...), an AIPerf summary"
    " (request_latency, ...), a guidellm report (benchmarks)"
)


def main(arguments: Sequence[str]) -> int:
  """Diagnoses what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  flags = [a for a in arguments if a.startswith("-")]
  names = [a for a in arguments if not a.startswith("-")]
  if {"--help", "-h"} & set(flags) or not arguments:
    print(USAGE, end="")
    return OK if arguments else MISTAKE
  known = ("--json", "--help")
  errors = [
      f"{flag}: no such flag{near(flag, known)}"
      for flag in flags if flag != "--json"
  ]
  if not names:
    errors.append("expected a folder or a file; see --help")
  if errors:
    raise ConfigError(errors)
  findings, unread = _diagnosed(names)
  if findings:
    _tell(findings, as_json="--json" in flags)
  if unread:
    raise ConfigError(unread)
  return OK


def _diagnosed(names: Sequence[str]) -> tuple[list[Finding], list[str]]:
  """The findings of all that can be read, and a line for each that cannot."""
  findings, unread = [], []
  for name in names:
    try:
      findings += diagnosed(name)
    except ConfigError as error:
      unread += error.errors
  return findings, unread


def _tell(findings: Sequence[Finding], *, as_json: bool) -> None:
  if as_json:
    told = [finding.as_json() for finding in findings]
    print(json.dumps(told, indent=2, allow_nan=False))
  else:
    print("\n\n".join("\n".join(finding.lines()) for finding in findings))


def diagnosed(name: str) -> list[Finding]:
  """The findings of a folder or a file.

  Raises:
    ConfigError: neither, or not results that can be read.
  """
  path = inputfile.path_of(name)
  if os.path.isdir(path):
    return [_ours(path)] if runs_in(path) == [path] else _all_of(name)
  if reason := inputfile.refusal(name):
    raise ConfigError([f"{name}: {reason}"])
  try:
    return list(_outside(path))
  except (OSError, ValueError, csv.Error) as error:
    raise ConfigError([f"{name}: {error}"]) from error
  except RecursionError as error:
    raise ConfigError([f"{name}: nested too deeply"]) from error


def _all_of(name: str) -> list[Finding]:
  """Of an experiment's runs; damaged ones are named and left out."""
  from pdjax.results.found import results_in

  found, left_out = results_in(name)
  findings = []
  for one in found:
    try:
      findings.append(_ours(one.folder))
    except ConfigError as error:
      left_out += error.errors
  if not findings:
    raise ConfigError(left_out)
  for line in left_out:
    print(f"! left out, damaged: {line}", file=sys.stderr)
  return findings


def _ours(folder: Path) -> Finding:
  """Of a run of ours, by its summary."""
  from pdjax.diagnose import ours

  summary = jsonfile.read_object(folder / "summary.json")
  if "kind" not in summary:
    raise ConfigError([f"{folder}: {_no_run(folder)}"])
  if missing := [name for name in ours.NEEDED if name not in summary]:
    raise ConfigError([
        f"{folder}: its summary has no {missing[0]}: made by an earlier pdjax;"
        " run it again"
    ])
  source = f"{folder.name}: {summary['kind']} run of pdjax"
  return ours.diagnose(source, summary, _mean_lag_ms(folder))


def _no_run(folder: Path) -> str:
  """Why a folder is no run's."""
  files = sorted(
      path for name in ("*.json", "*.csv", "*/*.json", "*/*.csv")
      for path in folder.glob(name) if not path.name.startswith("summary.")
  )
  if files and not (folder / "config.json").exists():
    return (
        "not a run's folder; if it is an export or another tool's, name the"
        f" files in it, such as {files[0]}"
    )
  if (folder / "summary.json").exists():
    return "not a run's folder: its summary.json is not one of a run"
  return "not a run's folder: no summary.json"


def _mean_lag_ms(folder: Path) -> float:
  """Of finished requests that were measured."""
  import pyarrow as pa
  import pyarrow.parquet as pq

  columns = ["state", "measured", "lag_ns"]
  try:
    table = pq.read_table(folder / "requests.parquet", columns=columns)
  except (pa.ArrowException, OSError) as error:
    raise ConfigError([
        f"{folder / 'requests.parquet'}: cannot be read: {error}"
    ]) from error
  state, measured, lag_ns = (table[name].to_numpy() for name in columns)
  done = (state == "finished") & measured
  return float(lag_ns[done].mean()) / 1e6 if done.any() else 0.0


def _outside(path: Path) -> Iterator[Finding]:
  from pdjax.diagnose import outside
  from pdjax.foreign import aiperf_reader, requestcsv

  text = path.read_text(encoding="utf-8-sig")
  if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
    for seen in _of_json(json.loads(text), path.name):
      yield outside.diagnose(seen)
  elif aiperf_reader.is_csv(text):
    yield outside.diagnose(aiperf_reader.read_csv(text, path.name))
  else:
    yield outside.diagnose(requestcsv.read(text, path.name))


def _of_json(value: Any, source: str) -> list:
  from pdjax.foreign import aiperf_reader, guidellm, vllm_reader

  if guidellm.is_guidellm(value):
    return guidellm.read(value, source)
  if aiperf_reader.is_json(value):
    return [aiperf_reader.read_json(value, source)]
  if vllm_reader.is_vllm(value):
    return [vllm_reader.read(value, source)]
  raise ValueError(f"no known results; expected {_FORMATS}")
