"""`python -m pdjax.diagnose`: where the time goes, why, and what to change."""

import csv
import json
import os
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from pdjax import inputfile
from pdjax.cli import command
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import OK
from pdjax.cli.replay import runs_in
from pdjax.config import ConfigError
from pdjax.diagnose import overview
from pdjax.diagnose.finding import Finding
from pdjax.diagnose.overview import Design
from pdjax.sweep import jsonfile, runfiles

GRAMMAR = Grammar(switches=("json", "details"))
USAGE = usage("""\
Says where the time of a run goes, with the evidence, and what to change.

  python -m pdjax.diagnose X...

X is a folder of ours (a run, an experiment, or one with blocks), the JSON of
vLLM's benchmark (better with --save-detailed), AIPerf's CSV or JSON summary,
guidellm's report, or a CSV with one request a row: ttft_ms, and what there is
of tpot_ms, e2el_ms, arrival_s, sent_s, prompt_tokens, output_tokens.

  --details  of many runs too, each one's evidence and advice; without it they
             have a line a design, seeds folded together
  --json     prints a list of findings, one a run
""", """\
Where the data does not decide it says `cannot_tell`, and why. The rules are in
docs/diagnose.md. What cannot be read is a line; the rest is told.
""", "told")

_OWN = "mean_p_queue_ms"
"""What every summary of pdjax has, and no other tool's, nor an export."""
_FORMATS = (
    "a vLLM benchmark (mean_ttft_ms, ...), an AIPerf summary"
    " (request_latency, ...), a guidellm report (benchmarks)"
)


def main(arguments: Sequence[str]) -> int:
  """Diagnoses what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  said.expect("a folder or a file")
  if {"json", "details"} <= said.switches:
    said.errors.append("--details: --json has them always; say one of the two")
  if said.errors:
    raise ConfigError(said.errors)
  designs, unread = _diagnosed(said.given)
  if designs:
    _tell(designs, said.switches)
  if unread:
    raise ConfigError(unread)
  return OK


def _diagnosed(names: Sequence[str]) -> tuple[list[Design], list[str]]:
  """What can be read, and a line for each that cannot."""
  designs, unread = [], []
  for name in names:
    try:
      designs += diagnosed(name)
    except ConfigError as error:
      unread += error.errors
  return designs, unread


def _tell(designs: Sequence[Design], switches: Collection[str]) -> None:
  findings = [finding for each in designs for finding in each.findings]
  if "json" in switches:
    told = [finding.as_json() for finding in findings]
    print(json.dumps(told, indent=2, allow_nan=False))
  elif "details" in switches or len(findings) == 1:
    print("\n\n".join("\n".join(finding.lines()) for finding in findings))
  else:
    print("\n".join(overview.lines(designs)))


def diagnosed(name: str) -> list[Design]:
  """The findings of a folder or a file.

  Raises:
    ConfigError: neither, or not results that can be read.
  """
  path = inputfile.path_of(name)
  if name.strip() and os.path.isdir(path):
    return _of_folder(path, name)
  if reason := inputfile.refusal(name):
    raise ConfigError([f"{name}: {reason}"])
  if (folder := runfiles.folder_of(path)) is not None:
    print(f"{name}: of pdjax's own; takes its folder {folder}", file=sys.stderr)
    return _of_folder(folder, str(folder))
  try:
    return [_alone(finding) for finding in _outside(path)]
  except (OSError, ValueError, csv.Error) as error:
    raise ConfigError([f"{name}: {error}"]) from error
  except RecursionError as error:
    raise ConfigError([f"{name}: nested too deeply"]) from error


def _alone(finding: Finding) -> Design:
  return Design(label=finding.source, findings=(finding,))


def _of_folder(path: Path, name: str) -> list[Design]:
  if runs_in(path) == [path]:
    return [_alone(_ours(path))]
  return _all_of(name)


def _all_of(name: str) -> list[Design]:
  """Of an experiment's runs; damaged ones are named and left out."""
  from pdjax.report.drawn import by_design
  from pdjax.results.found import results_in

  found, left_out = results_in(name)
  findings: dict[int, Finding] = {}
  for one in found:
    try:
      findings[id(one)] = _ours(one.folder)
    except ConfigError as error:
      left_out += error.errors
  designs = [
      Design(
          label=label, findings=tuple(findings[id(one)] for one in runs),
          several="runs" if drawn else "seeds",
      )
      for label, runs, drawn in by_design(
          [one for one in found if id(one) in findings]
      )
  ]
  if not designs:
    raise ConfigError(left_out)
  for line in left_out:
    print(f"! left out: {line}", file=sys.stderr)
  return designs


def _ours(folder: Path) -> Finding:
  """Of a run of ours, by its summary."""
  from pdjax.diagnose import ours
  from pdjax.results import written

  summary = jsonfile.read_object(folder / "summary.json")
  if not summary or not ("kind" in summary or _is_run(folder)):
    raise ConfigError([f"{folder}: {_no_run(folder)}"])
  if other := written.refusal(folder, summary=summary):
    raise ConfigError([f"{folder}: {other}"])
  source = f"{folder.name}: {summary['kind']} run of pdjax"
  return ours.diagnose(source, summary, _mean_lag_ms(folder))


def _is_run(folder: Path) -> bool:
  return (folder / "config.json").is_file()


def _no_run(folder: Path) -> str:
  """Why a folder is no run's."""
  files = sorted(
      path for name in ("*.json", "*.csv", "*/*.json", "*/*.csv")
      for path in folder.glob(name) if not path.name.startswith("summary.")
  )
  if files and not _is_run(folder):
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

  if path.read_bytes()[:4] == b"PAR1":
    raise ValueError(
        "a Parquet file, which no client writes; of a run of pdjax name its"
        " folder"
    )
  text = path.read_text(encoding="utf-8-sig")
  if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
    for seen in _of_json(json.loads(text), path.name):
      yield outside.diagnose(seen)
  elif aiperf_reader.is_csv(text):
    yield outside.diagnose(aiperf_reader.read_csv(text, path.name))
  else:
    yield outside.diagnose(requestcsv.read(text, path.name))


def _is_own(value: Any) -> bool:
  """Whether it is the summary of a run or of an experiment of ours."""
  rows = value if isinstance(value, list) else [value]
  return any(isinstance(row, dict) and _OWN in row for row in rows)


def _of_json(value: Any, source: str) -> list:
  from pdjax.foreign import aiperf_reader, guidellm, vllm_reader

  if _is_own(value):
    raise ValueError(
        "a summary of pdjax, copied out of its folder; name the run's folder"
    )
  if guidellm.is_guidellm(value):
    return guidellm.read(value, source)
  if aiperf_reader.is_json(value):
    return [aiperf_reader.read_json(value, source)]
  if vllm_reader.is_vllm(value):
    return [vllm_reader.read(value, source)]
  raise ValueError(f"no known results; expected {_FORMATS}")
