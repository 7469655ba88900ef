"""How far do simulated times lie from published measurements?

    python experiments/fidelity_table.py --data=DATA

prints the errors by target and REWRITES two files of this checkout, unless
--out and --fitted name others: docs/fidelity.md, and the fitted scalars that
the simulator uses (pdjax/simulate/fitted.json). DATA is a folder with the
published files; what comes out holds our errors, not the measurements.
Minutes: 4 to 10.

Expected: layer times, collectives within a host, DistServe's fits and token
times within 10 %; long prompts of old engines and collectives between hosts
are missed, and the document says by which term.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pdjax.calibrate.published import pd_trade, report, sources
from pdjax.calibrate.published.readings import ScalarSet
from pdjax.calibrate.published.sources import Hardware
from pdjax.cli import argtypes

ROOT = Path(__file__).resolve().parents[1]
TRADE = "measured/pd_vs_agg_a10.csv"


def main() -> int:
  given = _parser().parse_args()
  hardware = [sources.a100(given.data), sources.h100(given.data)]
  fitted = []
  for kind in hardware:
    print(
        f"{kind.name}: fits {len(kind.start)} scalars to"
        f" {sum(reading.fitted for reading in kind.readings)} of"
        f" {len(kind.readings)} published readings", flush=True,
    )
    fitted.append(kind.fit())
  trade = pd_trade.compare(given.data / TRADE)
  for line in write(hardware, fitted, trade, given.out, given.fitted):
    print(line)
  return 0


def _parser() -> argparse.ArgumentParser:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument(
      "--data", required=True, help=argtypes.DATA_HELP,
      type=argtypes.data_folder(*sources.FILES, TRADE),
  )
  parser.add_argument(
      "--out", type=argtypes.output_file, default=ROOT / "docs/fidelity.md",
      help="where the document goes, over what is there; without, over"
      " docs/fidelity.md of this checkout",
  )
  parser.add_argument(
      "--fitted", type=argtypes.output_file,
      default=ROOT / "pdjax/simulate/fitted.json",
      help="where the fitted scalars go, over what is there; without, over"
      " pdjax/simulate/fitted.json of this checkout, which"
      " backend.costs='fitted' reads",
  )
  return parser


def write(
    hardware: Sequence[Hardware], fitted: Sequence[ScalarSet],
    trade: Sequence[pd_trade.Compared], out: Path, scalars: Path,
) -> Iterator[str]:
  """The two files; yields the first table of the document, and the paths."""
  out.write_text(report.document(hardware, fitted, trade))
  entries = [
      report.entry(kind, found)
      for kind, found in zip(hardware, fitted, strict=True)
  ]
  scalars.write_text(json.dumps(entries, indent=1) + "\n")
  yield ""
  yield "Simulated against published times; the readings no fit has seen."
  yield "(a) first principles, (b) fitted scalars:"
  yield ""
  yield report.headline(hardware, fitted)
  yield ""
  yield f"document: {out}"
  yield f"fitted scalars: {scalars}"


if __name__ == "__main__":
  sys.exit(main())
