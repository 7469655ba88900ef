"""`python -m pdjax.compare`: ratios where contracts agree, and nowhere else."""

import dataclasses
import json
import os
import sys
from collections.abc import Sequence

from pdjax.cli import command
from pdjax.cli.command import OK
from pdjax.config import ConfigError
from pdjax.fieldtypes import near

REFUSED = 3
"""Exit status: no ratio, as the contracts differ."""

USAGE = """\
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
  --help                   shows this

Simulated figures are never divided by measured ones. What must agree is in
docs/compare.md. Exit status: 0 compared, 3 a ratio is refused and the output
says why, 2 a mistake.
"""

_SWITCHES = ("json", "list_published", "help")
_SIDES = {"only": "AB", "only_a": "A", "only_b": "B"}
_FLAGS = (*_SIDES, "allow", *_SWITCHES)


@dataclasses.dataclass(kw_only=True)
class _Flags:
  given: list[str] = dataclasses.field(default_factory=list)
  only: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
  """(flag, field, values) each."""
  allow: list[str] = dataclasses.field(default_factory=list)
  switches: set[str] = dataclasses.field(default_factory=set)
  errors: list[str] = dataclasses.field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
  """Compares what the arguments name; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  flags = _parse(arguments)
  if "help" in flags.switches:
    print(USAGE, end="")
    return OK
  if "list_published" in flags.switches:
    return _list()
  _check(flags)
  if len(flags.given) == 1 and _is_claim(flags.given[0]):
    return _show(flags.given[0])
  return _compare(flags)


def _parse(arguments: Sequence[str]) -> _Flags:
  flags = _Flags()
  for argument in arguments:
    name, equals, value = argument.removeprefix("--").partition("=")
    if argument == "-h":
      flags.switches.add("help")
    elif not argument.startswith("-"):
      flags.given.append(argument)
    elif name not in _FLAGS:
      wanted = near(name, _FLAGS).replace("mean '", "mean '--")
      flags.errors.append(f"--{name}: no such flag{wanted}")
    elif name in _SWITCHES:
      flags.switches.add(name)
      flags.errors += [f"--{name}: takes no value"] if equals else []
    elif not value:
      flags.errors.append(f"--{name}: needs a value, as --{name}=...")
    elif name == "allow":
      flags.allow += [field.strip() for field in value.split(",")]
    else:
      path, equals, values = value.partition("=")
      flags.only.append((name, path.strip(), values))
      flags.errors += [] if equals else [f"--{name}: expected FIELD=VALUES"]
  return flags


def _check(flags: _Flags) -> None:
  from pdjax.compare.agreement import KIND, UNKNOWN
  from pdjax.published.claim import contract_fields

  errors = list(flags.errors)
  if not 1 <= len(flags.given) <= 2:
    errors.append(f"expected A and B, got {len(flags.given)}; see --help")
  known = (*contract_fields(), KIND, UNKNOWN)
  for field in flags.allow:
    if field not in known:
      wanted = near(field, known) or f"; allowed: {', '.join(known)}"
      errors.append(f"--allow={field}: no such condition{wanted}")
  if errors:
    raise ConfigError(errors)


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
  """Whether a side is a claim; a folder of that name is not."""
  from pdjax.published.claim import names

  claim = given.endswith(".json") or given.partition(":")[0] in names()
  return claim and not os.path.isdir(given)


def _compare(flags: _Flags) -> int:
  from pdjax.cli.rivals import chosen, pairs, within
  from pdjax.compare.record import record
  from pdjax.compare.verdict import verdict
  from pdjax.compare.words import words

  sides = [
      chosen(given, _is_claim(given), _only(flags, side))
      for given, side in zip(flags.given, "AB", strict=False)
  ]
  for line in dict.fromkeys(line for _, lines in sides for line in lines):
    print(f"! left out, damaged: {line}", file=sys.stderr)
  rivals = [found for found, _ in sides]
  matched = (
      pairs(rivals[0], rivals[1], flags.allow) if len(rivals) == 2
      else within(rivals[0], flags.allow)
  )
  found = [verdict(a, b, flags.allow) for a, b in matched]
  if "json" in flags.switches:
    print(json.dumps([record(each) for each in found], indent=2,
                     allow_nan=False))
  else:
    print(f"\n\n{'-' * 96}\n\n".join(words(each) for each in found))
  return OK if all(each.compared for each in found) else REFUSED


def _only(flags: _Flags, side: str) -> list[tuple[str, str, str]]:
  alone = len(flags.given) == 1
  wrong = [f for f, _, _ in flags.only if alone and f == "only_b"]
  if wrong:
    raise ConfigError(["--only_b: there is no B"])
  return [each for each in flags.only if side in _SIDES[each[0]]]
