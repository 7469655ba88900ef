"""`python -m pdjax.compare`: ratios where contracts agree, and nowhere else."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from pdjax.cli import command
from pdjax.cli.arguments import Grammar, Said, read, usage
from pdjax.cli.command import OK
from pdjax.config import ConfigError
from pdjax.fieldtypes import near

REFUSED = 3
"""Exit status: no ratio, as the contracts differ."""

_SIDES = {"only": "AB", "only_a": "A", "only_b": "B"}
GRAMMAR = Grammar(
    added=(*_SIDES, "allow"), switches=("json", "list_published"),
)
USAGE = usage("""\
Divides the figures of B by those of A, if both hold under the same conditions.

  python -m pdjax.compare A [B]

A and B are folders of results (a run, an experiment, or one with blocks), or
published claims: NAME, NAME:ROW, or a .json file of yours. With A alone its
designs are compared with the first one of the same contract; a claim alone is
shown. Runs that differ in workload.seed alone are one design, paired by seed.

  --only='FIELD=V1,V2'     takes the runs with these values, of A and B
  --only_a=..., --only_b=...
                           the same of one side; case and repeat are fields too
  --allow=FIELD,...        divides although these conditions differ, and says
                           so; `unknown` is all that a publication does not tell
  --json                   prints one JSON object a pair, in a list
  --list_published         shows the claims that come with pdjax
""", """\
Simulated figures are never divided by measured ones. What must agree is in
docs/compare.md.
""", "compared", {REFUSED: "a ratio is refused and the output says why"})


def main(arguments: Sequence[str]) -> int:
  """Compares what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, GRAMMAR)
  if said.help:
    print(USAGE, end="")
    return OK
  if "list_published" in said.switches and not said.errors:
    return _list()
  only, allow = _checked(said)
  if len(said.given) == 1 and _is_claim(said.given[0]):
    return _show(said.given[0])
  return _compare(said, only, allow)


def fields_of(
    said: Said, flags: Sequence[str]
) -> list[tuple[str, str, str]]:
  """(flag, field, values) of each FIELD=VALUES of these flags."""
  found = []
  for flag, text in said.values:
    if flag in flags:
      path, equals, values = text.partition("=")
      found.append((flag, path.strip().removeprefix("config."), values))
      if text.strip() and not equals:
        said.errors.append(f"--{flag}={text}: expected FIELD=VALUES")
  return found


def _checked(said: Said) -> tuple[list[tuple[str, str, str]], list[str]]:
  """What is chosen, and what may differ.

  Raises:
    ConfigError: every mistake, a line each.
  """
  from pdjax.compare.agreement import KIND, UNKNOWN
  from pdjax.published.claim import contract_fields

  said.expect("A and B", most=2)
  only = fields_of(said, list(_SIDES))
  if len(said.given) == 1 and "only_b" in dict(said.values):
    said.errors.append("--only_b: there is no B")
  allow = [
      field.strip() for text in said.all("allow") if text.strip()
      for field in text.split(",")
  ]
  known = (*contract_fields(), KIND, UNKNOWN)
  for field in allow:
    if field not in known:
      wanted = near(field, known) or f"; allowed: {', '.join(known)}"
      said.errors.append(f"--allow={field}: no such condition{wanted}")
  if said.errors:
    raise ConfigError(said.errors)
  return only, allow


def _list() -> int:
  from pdjax.published import claim
  from pdjax.report.heading import wrapped

  for name in claim.names():
    one = claim.read(name)
    print(f"{name}  ({one.claim_type}; {one.source['grade']})")
    print("\n".join(f"  {line}" for line in wrapped(one.claim)))
  return OK


def _show(given: str) -> int:
  from pdjax.compare.claimwords import card
  from pdjax.published.claim import read

  print("\n".join(card(read(given.partition(":")[0]))))
  return OK


def _is_claim(given: str) -> bool:
  """Whether a side is a claim; a folder of that name is not, nor a file of
  results."""
  from pdjax.published.claim import names
  from pdjax.sweep import runfiles

  claim = given.endswith(".json") or given.partition(":")[0] in names()
  ours = os.path.isdir(given) or runfiles.folder_of(Path(given))
  return claim and not ours


def _compare(
    said: Said, only: Sequence[tuple[str, str, str]], allow: Sequence[str]
) -> int:
  from pdjax.cli.rivals import chosen, pairs, within
  from pdjax.compare.record import record
  from pdjax.compare.verdict import verdict
  from pdjax.compare.words import words

  sides = [
      chosen(given, _is_claim(given), [
          each for each in only if side in _SIDES[each[0]]
      ])
      for given, side in zip(said.given, "AB", strict=False)
  ]
  for line in dict.fromkeys(line for _, lines in sides for line in lines):
    print(f"! left out: {line}", file=sys.stderr)
  rivals = [found for found, _ in sides]
  matched = (
      pairs(rivals[0], rivals[1], allow) if len(rivals) == 2
      else within(rivals[0], allow)
  )
  found = [verdict(a, b, allow) for a, b in matched]
  if "json" in said.switches:
    print(json.dumps([record(each) for each in found], indent=2,
                     allow_nan=False))
  else:
    print(f"\n\n{'-' * 96}\n\n".join(words(each) for each in found))
  return OK if all(each.compared for each in found) else REFUSED
