"""Compiles every kernel for every target and writes what came of it.

    python -m benchmarks.aot_matrix [--kernels=a,b] [--targets=v5e:2x2,…]

Prints a table in Markdown: compiled, not executed. Ends with 1 if a case does
not compile, copies the cache, or needs temporaries of a twentieth of it.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from benchmarks import aot, cases
from pdjax.aot.target import missing_compiler, target


def table(made: Iterable[aot.Compiled]) -> str:
  """Sound cases of all, by kernel, types and target."""
  made = list(made)
  targets = list(dict.fromkeys(x.case.target for x in made))
  sound, total = Counter(), Counter()
  for x in made:
    key = (x.case.kernel, f"{x.case.dtype} / {x.case.kv_dtype}", x.case.target)
    total[key] += 1
    sound[key] += x.sound
  lines = [
      f"| kernel | queries / cache | {' | '.join(targets)} |",
      "|---|---|" + "---|" * len(targets),
  ]
  for kernel, types in dict.fromkeys(key[:2] for key in total):
    counts = (
        f"{sound[kernel, types, x]} of {total[kernel, types, x]}"
        for x in targets
    )
    lines.append(f"| `{kernel}` | {types} | {' | '.join(counts)} |")
  return "\n".join(lines)


def main(argv: Sequence[str]) -> int:
  parser = argparse.ArgumentParser(description="Compiles all kernels.")
  parser.add_argument("--kernels", default=",".join(cases.ROWS))
  parser.add_argument("--targets", default=",".join(cases.TPUS))
  asked = parser.parse_args(argv)
  targets = asked.targets.split(",")
  if gone := [x for t in targets if (x := missing_compiler(target(t)))]:
    print(gone[0], file=sys.stderr)
    return 2
  made = aot.compile_all(cases.matrix(asked.kernels.split(","), targets))
  print(table(made))
  for x in made:
    if not x.sound:
      print(
          f"{x.case}: {x.reason or 'compiled'}, {x.copies} copies of the"
          f" cache, {x.temp_bytes} bytes of temporaries"
      )
  return int(not all(x.sound for x in made))


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
