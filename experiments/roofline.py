"""Why prefill and decode want different machines, on one picture.

    python experiments/roofline.py --chip=a100-80gb-sxm --model=llama-3-8b

prints the textbooks' arithmetic and draws prefill chunks and decode batches of
the model on the chip's roofline (roofline.png, roofline.svg in --out). Seconds.

Expected: decodes lie far left of the ridge, on the slope that bandwidth sets;
chunks from a few hundred tokens lie right of it, under the flat roof.
"""

import argparse
import sys
from pathlib import Path

from pdjax import memory
from pdjax.cli import argtypes
from pdjax.config import ConfigError
from pdjax.layout import Layout
from pdjax.models.presets import preset
from pdjax.simulate import roofline
from pdjax.simulate.chips import chip
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S

CHUNKS = (64, 128, 256, 512, 1024, 2048, 8192)
BATCHES = (1, 4, 16, 64, 256)
CONTEXT_TOKENS = 1024
HDR_BYTES_PER_S = 25 * 10**9
"""InfiniBand HDR, 200 Gb/s."""


def textbook() -> list[str]:
  """The arithmetic that introductions to the subject give."""
  a100 = chip("a100-80gb-sxm")
  lines = [f"ridge of an A100: {a100.ridge_flop_per_byte:.0f} FLOP/byte"]
  for what, rows in (("prefill", 512), ("prefill", 1024), ("decode", 1),
                     ("decode", 32)):
    intensity = roofline.square_projection(rows, 4096).intensity
    lines.append(
        f"{what} of {rows}, hidden 4096: {intensity:.1f} FLOP/byte"
    )
  for name in ("llama-3-8b", "llama-3-70b"):
    size = AnalyticalCost(preset(name), a100).transfer_bytes(2048)
    at_full_rate = Link(HDR_BYTES_PER_S).transfer_ps(size) / PS_PER_S
    lines.append(
        f"KV of 2048 tokens of {name}: {size / 1e6:.0f} MB,"
        f" {1e3 * at_full_rate:.1f} ms over InfiniBand HDR"
    )
  return lines


def draw(cost: AnalyticalCost, out: Path) -> None:
  """The roofline with both phases' steps."""
  import matplotlib

  matplotlib.use("Agg")
  from matplotlib import pyplot

  figure, axes = pyplot.subplots(figsize=(7, 4.5), layout="constrained")
  peaks = cost.peak_flops, cost.peak_bytes_per_s
  ridge = peaks[0] / peaks[1]
  intensities = [0.5, ridge, 8192]
  roof = [roofline.roof_flops_per_s(*peaks, i) / 1e12 for i in intensities]
  axes.plot(intensities, roof, color="black", label="roof (data sheet)")
  axes.axvline(ridge, color="gray", linestyle=":", label=f"ridge {ridge:.0f}")
  for points, marker in (
      (roofline.prefill_points(cost, CHUNKS), "o"),
      (roofline.decode_points(cost, BATCHES, CONTEXT_TOKENS), "s"),
  ):
    phase = points[0].label.split()[0]
    rates = [point.flops_per_s / 1e12 for point in points]
    axes.plot(
        [p.intensity for p in points], rates, marker, label=f"{phase} steps"
    )
    for point, rate in zip(points, rates, strict=True):
      axes.annotate(
          point.label.split()[1], (point.intensity, rate), fontsize=7,
          xytext=(4, -9), textcoords="offset points",
      )
  axes.set(
      xscale="log", yscale="log", xlabel="FLOP per byte", ylabel="TFLOP/s",
      title=f"{cost.spec.name} on {cost.layout.chips} x {cost.chip.name}:"
      " simulated, first principles",
  )
  axes.legend(fontsize=8)
  out.mkdir(parents=True, exist_ok=True)
  for suffix in ("png", "svg"):
    figure.savefig(out / f"roofline.{suffix}", metadata={"Date": None})


def main() -> int:
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--chip", default="a100-80gb-sxm")
  parser.add_argument("--model", default="llama-3-8b")
  parser.add_argument("--tp", type=argtypes.whole(1, 1024), default=1)
  parser.add_argument(
      "--out", type=argtypes.output_folder, default="results/roofline"
  )
  given = parser.parse_args()
  try:
    spec, layout = preset(given.model), Layout(tp=given.tp)
    memory.check_split(spec, layout, "--tp")
    cost = AnalyticalCost(spec, chip(given.chip), layout=layout).required()
  except ConfigError as error:
    print("\n".join(error.errors), file=sys.stderr)
    return 2
  print("\n".join(textbook()))
  draw(cost, given.out)
  print(f"drawn: {given.out / 'roofline.png'}")
  return 0


if __name__ == "__main__":
  sys.exit(main())
