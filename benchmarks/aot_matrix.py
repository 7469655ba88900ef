"""Compiles every kernel for every target and writes what came of it.

    python -m benchmarks.aot_matrix [--kernels=a,b] [--targets=v5e:2x2,…]
        [--rounds=1] [--results=FILE] [--readme]

Prints a table in Markdown: compiled, not executed. A round is a twelfth of the
matrix with some of everything in it (`cases.matrix`). Each case is kept in FILE
as soon as it is done; started again, only cases are compiled that are not in
it, or that another compiler or other kernels made, and the table holds all that
are. With --readme it takes its place in kernels/README.md. Ends with 1 if a
case does not compile, copies the cache, or needs temporaries of a twentieth of
it. With --targets=h200 it is the GPU kernels, whose table is another.
"""

import argparse
import dataclasses
import datetime
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks import aot, aot_table, cases
from benchmarks.aot_sources import made_with, versions
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled
from pdjax.aot.target import missing_compiler, target

RESULTS = aot.ROOT / "results" / "aot_matrix.jsonl"
README = aot.ROOT / "kernels" / "README.md"


def kept(results: Path) -> dict[Case, Compiled]:
  """Results of earlier runs that still hold."""
  if not results.exists():
    return {}
  lines = [json.loads(x) for x in results.read_text().splitlines()]
  found = ((Case(**line["case"]), line) for line in lines)
  return {
      case: Compiled(**line["made"]) for case, line in found
      if line["made_with"] == made_with(case)
  }


def compiled(
    asked: Sequence[Case], results: Path
) -> Iterator[tuple[Case, Compiled]]:
  """Every case, from the file or compiled now and added to it."""
  done = kept(results)
  yield from ((case, done[case]) for case in asked if case in done)
  left = [case for case in asked if case not in done]
  results.parent.mkdir(parents=True, exist_ok=True)
  with results.open("a") as file:
    for place, (case, made) in enumerate(aot.compiled(left), 1):
      line = {
          "made_with": made_with(case), "case": dataclasses.asdict(case),
          "made": dataclasses.asdict(made),
      }
      print(json.dumps(line), file=file, flush=True)
      says = made.refused or f"{made.seconds:.1f} s"
      print(f"{place} of {len(left)}: {case}: {says}", file=sys.stderr)
      yield case, made


def main(argv: Sequence[str]) -> int:
  asked = _flags(argv)
  targets = asked.targets.split(",")
  if gone := [x for t in targets if (x := missing_compiler(target(t)))]:
    print(gone[0], file=sys.stderr)
    return 2
  platform, *others = {target(name).platform for name in targets}
  if others:
    print("--targets: TPUs or GPUs, not both", file=sys.stderr)
    return 2
  for_all = list(cases.matrix(asked.kernels.split(","), targets))
  now = cases.matrix(asked.kernels.split(","), targets, asked.rounds)
  found = kept(asked.results)
  found |= compiled(list(now), asked.results)
  found = {case: found[case] for case in for_all if case in found}
  text = aot_table.table(found)
  print(text)
  if asked.readme:
    heading = (
        f"{datetime.date.today()}; {versions(platform)}; {len(found)} of"
        f" {len(for_all)} cases compiled so far."
    )
    README.write_text(
        aot_table.replaced(
            README.read_text(), f"{heading}\n\n{text}",
            *aot_table.MARKS[platform],
        )
    )
  return _told(found.items())


def _flags(argv: Sequence[str]) -> argparse.Namespace:
  parser = argparse.ArgumentParser(description="Compiles all kernels.")
  parser.add_argument("--kernels", default=",".join(cases.ROWS))
  parser.add_argument("--targets", default=",".join(cases.TPUS))
  parser.add_argument(
      "--rounds", type=int, default=cases.ROUNDS,
      help="1 is a twelfth of the cases with some of everything in it",
  )
  parser.add_argument("--results", type=Path, default=RESULTS)
  parser.add_argument("--readme", action="store_true")
  return parser.parse_args(argv)


def _told(found: Iterable[tuple[Case, Compiled]]) -> int:
  """A line for each case that is not sound; the exit status."""
  unsound = [(case, made) for case, made in found if not aot.sound(made)]
  for case, made in unsound:
    print(
        f"{case}: {made.refused or 'compiled'}, {made.whole_copies} copies of"
        f" the cache, {made.temp_bytes} bytes of temporaries"
    )
  return int(bool(unsound))


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
