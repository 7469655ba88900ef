"""How far do simulated times lie from published measurements?

    python experiments/fidelity_table.py --data=DATA

writes docs/fidelity.md, and the fitted scalars beside the package's chips
(`pdjax/simulate/fitted.json`). DATA is a folder with the published files; the
documents that come out hold our errors, not the measurements. Minutes: 10.

Expected: layer times, collectives within a host, DistServe's fits and token
times within 10 %; long prompts of old engines and collectives between hosts
are missed, and the document says by which term.
"""

import argparse
import json
import sys
from pathlib import Path

from pdjax.calibrate.published import pd_trade, report, sources
from pdjax.cli import argtypes

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--data", type=Path, required=True)
  parser.add_argument(
      "--out", type=argtypes.output_file, default=ROOT / "docs/fidelity.md"
  )
  parser.add_argument(
      "--fitted", type=argtypes.output_file,
      default=ROOT / "pdjax/simulate/fitted.json",
  )
  given = parser.parse_args()
  if not (given.data / "measured").is_dir():
    print(f"--data: no folder {given.data / 'measured'}", file=sys.stderr)
    return 2
  hardware = [sources.a100(given.data), sources.h100(given.data)]
  fitted = []
  for kind in hardware:
    print(f"{kind.name}: {len(kind.readings)} readings", flush=True)
    fitted.append(kind.fit())
  trade = pd_trade.compare(given.data / "measured/pd_vs_agg_a10.csv")
  given.out.write_text(report.document(hardware, fitted, trade))
  entries = [
      report.entry(kind, found)
      for kind, found in zip(hardware, fitted, strict=True)
  ]
  given.fitted.write_text(json.dumps(entries, indent=1) + "\n")
  return 0


if __name__ == "__main__":
  sys.exit(main())
