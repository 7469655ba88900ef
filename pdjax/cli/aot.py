"""`python -m pdjax.preflight`: does a config compile and fit, before booking.

Every program of the config's workers is compiled for chips that need not be
here, from shapes alone. Modules that take time are imported when needed.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax.cli import command
from pdjax.cli import flags as experiment_flags
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError
from pdjax.sweep import temporary

CONFIGS = ("config", "sweep", "seeds", "sample", "where", "only")
"""Flags of `pdjax.experiment` that say which cells there are."""
GRAMMAR = Grammar(
    values=("target", "json", "timeout_s"), switches=("all_buckets",),
    handed_on=CONFIGS,
)
USAGE = usage("""\
Compiles a config's programs for chips that need not be here; nothing runs.

  python -m pdjax.preflight --config=llama70b_h100 --target=v5p:2x2x2 \\
      --config.cluster.split=1C --config.cluster.tp=8

  --config=FILE, --config.FIELD=VALUE   as in python -m pdjax.experiment
  --target=T[,T]       v4:2x2x1, v5e:2x2, v5p:2x2x2, v6e:2x4, tpu7x:2x2x1 (any
                       slice), h100, h200, h200:8
  --all_buckets        every program; else the largest of each kind
  --json=FILE          also writes what was found
  --timeout_s=N        for one program (default: 900)
""", """\
Without cluster.kv_tokens a pool takes what the memory arithmetic leaves.
""", "everything compiles and fits", {1: "something does not"})


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  flags, errors = experiment_flags.beside(said)
  if flags.config is None:
    errors.append("--config: say which, as in --config=llama70b_h100")
  targets = _targets(said.value("target"), errors)
  timeout_s = _timeout_s(said.value("timeout_s") or "900", errors)
  output = output_of("json", said.value("json"), errors)
  from pdjax.cli import aot_plan, aot_report

  plans = aot_plan.plans(flags, targets, "all_buckets" in said.switches, errors)
  findings = [aot_report.compiled(plan, timeout_s) for plan in plans]
  if output:
    found = [finding.as_json() for finding in findings]
    output.write_text(json.dumps(found, indent=2) + "\n")
  return OK if all(finding.good for finding in findings) else FAILED


def _targets(text: str | None, errors: list[str]) -> list[Any]:
  from pdjax.aot.target import missing_compiler, target

  if text is None:
    errors.append("--target: say which, as in --target=v5e:2x2; see --help")
  targets = []
  for one in filter(None, (text or "").split(",")):
    try:
      targets.append(target(one.strip()))
    except ConfigError as error:
      errors += error.errors
  errors += filter(None, map(missing_compiler, targets))
  return targets


def _timeout_s(text: str, errors: list[str]) -> float:
  try:
    timeout_s = float(text)
  except ValueError:
    timeout_s = 0.0
  if not 0 < timeout_s < float("inf"):
    errors.append(f"--timeout_s={text}: expected seconds, more than 0")
  return timeout_s


def output_of(flag: str, text: str | None, errors: list[str]) -> Path | None:
  """The file that a flag names, if it can be written; else a mistake."""
  if not text:
    return None
  path = Path(text)
  if path.is_dir():
    errors.append(f"--{flag}={text}: is a folder; name a file in it")
  elif not path.absolute().parent.is_dir():
    errors.append(f"--{flag}={text}: cannot be written: no such folder")
  elif path.exists() and not path.is_file():
    errors.append(f"--{flag}={text}: is no plain file")
  elif path.exists() and not os.access(path, os.W_OK):
    errors.append(f"--{flag}={text}: may not be written to")
  elif not path.exists() and (reason := temporary.refusal(path)):
    errors.append(f"--{flag}={text}: {reason}")
  return path
