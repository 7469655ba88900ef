"""Why prefill and decode want different machines, on one picture.

    python experiments/roofline.py --chip=a100-80gb-sxm --model=llama-3-8b

prints the textbooks' arithmetic, which is of an A100 whatever is asked for;
then the same of --model on --tp chips: ridge, KV cache, the floor of a decode
step, and of prefill chunks and decode batches intensity, bound and time. Draws
them on the chips' roofline (roofline.png, roofline.svg in --out). Seconds.

Expected: decodes lie far left of the ridge, on the slope that bandwidth sets;
chunks from a few hundred tokens lie right of it, under the flat roof.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import roofline_picture
from roofline_picture import Mark

from pdjax import memory
from pdjax.cli import argtypes
from pdjax.config import WHOLE_PROMPT_TOKENS, Cluster, ConfigError
from pdjax.digits import plain
from pdjax.fieldtypes import near
from pdjax.layout import Layout
from pdjax.models.presets import PRESETS
from pdjax.simulate import roofline
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.costs import UNCALIBRATED, AnalyticalCost
from pdjax.simulate.links import Link
from pdjax.simulate.rates import PS_PER_S
from pdjax.simulate.roofline import Point

CHUNKS = (64, 128, 256, 512, 1024, 2048, 8192)
BATCHES = (1, 4, 16, 64, 256)
CONTEXT_TOKENS = 1024
LINK_TOKENS = 2048
HDR_BYTES_PER_S = 25 * 10**9
"""InfiniBand HDR, 200 Gb/s."""


def textbook() -> list[str]:
  """The arithmetic that introductions to the subject give."""
  a100 = CHIPS["a100-80gb-sxm"]
  lines = [f"ridge of an A100: {a100.ridge_flop_per_byte:.0f} FLOP/byte"]
  for what, rows in (("prefill", 512), ("prefill", 1024), ("decode", 1),
                     ("decode", 32)):
    intensity = roofline.square_projection(rows, 4096).intensity
    lines.append(
        f"{what} of {rows}, hidden 4096: {intensity:.1f} FLOP/byte"
    )
  for name in ("llama-3-8b", "llama-3-70b"):
    lines.append(_kv(AnalyticalCost(PRESETS[name], a100)))
  return lines


def _kv(cost: AnalyticalCost) -> str:
  """A hand-off's bytes, and their time over a network at its full rate."""
  size = cost.transfer_bytes(LINK_TOKENS)
  at_full_rate = Link(HDR_BYTES_PER_S).transfer_ps(size) / PS_PER_S
  return (
      f"KV of {LINK_TOKENS} tokens of {cost.spec.name}: {size / 1e6:.0f} MB,"
      f" {1e3 * at_full_rate:.1f} ms over InfiniBand HDR"
  )


def points(cost: AnalyticalCost) -> tuple[list[Point], list[Point]]:
  """Prefill chunks, decode batches."""
  return (
      roofline.prefill_points(cost, CHUNKS),
      roofline.decode_points(cost, BATCHES, CONTEXT_TOKENS),
  )


def room_tokens(cost: AnalyticalCost) -> int:
  """Tokens of KV cache beside the weights and the largest step.

  Raises:
    ConfigError: none.
  """
  need = memory.footprint(
      cost.spec, dtypes=cost.dtypes, layout=cost.layout,
      page_tokens=Cluster.page_tokens, step_tokens=WHOLE_PROMPT_TOKENS,
      max_num_seqs=max(BATCHES),
  )
  pages = memory.pool_pages(
      need, cost.chip.figure("hbm_bytes"), Cluster.hbm_utilization, _name(cost)
  )
  return pages * Cluster.page_tokens


def asked(cost: AnalyticalCost, room: int) -> Iterator[str]:
  """The same arithmetic of one model on one worker; `room` in tokens."""
  peaks = cost.peak_flops, cost.peak_bytes_per_s
  prefills, decodes = points(cost)
  one_token = cost.transfer_bytes(1)
  yield (
      f"{_name(cost)}: {plain(peaks[0] / 1e12, 4)} TFLOP/s,"
      f" {plain(peaks[1] / 1e9, 4)} GB/s (data sheet); ridge"
      f" {peaks[0] / peaks[1]:.0f} FLOP/byte"
  )
  weights = memory.weight_bytes(cost.spec, cost.dtypes, cost.layout)
  yield (
      f"weights {plain(weights / 1e9)} GB a chip; room for {room:,} tokens of"
      f" KV at {one_token:,} bytes a token"
  )
  yield _kv(cost)
  floor = decodes[0]
  yield (
      f"floor of a decode step: {plain(floor.work.bytes / 1e9)} GB,"
      f" {plain(1e3 * floor.least_s(*peaks))} ms"
      f" ({BATCHES[0]} sequence of {CONTEXT_TOKENS} tokens)"
  )
  yield ""
  yield (
      f"{'step':<24}{'FLOP/byte':>10}  {'bound by':<10}{'at least':>12}"
      f"{'simulated':>12}  most of it in"
  )
  for point in prefills:
    yield _row(cost, point, f"{point.label} tokens", room)
  for point in decodes:
    yield _row(cost, point, f"{point.label} x {CONTEXT_TOKENS}", room)
  yield "At least: operations and bytes at the data sheet's peaks. Simulated:"
  yield f"first principles, {UNCALIBRATED}."
  if not all(fits(point, room) for point in (*prefills, *decodes)):
    yield "*: does not fit in memory."


def fits(point: Point, room: int) -> bool:
  """Whether the cache has room for all the tokens of a step."""
  prompts = sum(tokens for tokens, _ in point.shape.prefill)
  return room >= prompts + point.shape.decode_context_tokens


def _row(cost: AnalyticalCost, point: Point, name: str, room: int) -> str:
  name += "" if fits(point, room) else " *"
  peaks = cost.peak_flops, cost.peak_bytes_per_s
  bound = "compute" if point.intensity > peaks[0] / peaks[1] else "bandwidth"
  parts = cost.parts(point.shape)
  return (
      f"{name:<24}{plain(point.intensity):>10}  {bound:<10}"
      f"{plain(1e3 * point.least_s(*peaks)):>9} ms"
      f"{plain(1e3 * point.seconds):>9} ms  {max(parts, key=parts.__getitem__)}"
  )


def marks(steps: list[Point], room: int) -> list[Mark]:
  """A phase's steps as they are drawn."""
  return [
      Mark(
          text=point.label.split()[1], intensity=point.intensity,
          flops_per_s=point.flops_per_s, fits=fits(point, room),
      )
      for point in steps
  ]


def _name(cost: AnalyticalCost) -> str:
  return f"{cost.spec.name} on {cost.layout.chips} x {cost.chip.name}"


def main() -> int:
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  for flag, default in (("chip", "a100-80gb-sxm"), ("model", "llama-3-8b")):
    parser.add_argument(
        f"--{flag}", default=default, help="a preset; without, %(default)s"
    )
  parser.add_argument(
      "--tp", type=argtypes.whole(1, 1024), default=1, help="chips of the model"
  )
  parser.add_argument(
      "--out", type=argtypes.output_folder, default="results/roofline",
      help="folder of the picture; without, %(default)s",
  )
  given = parser.parse_args()
  try:
    spec, layout = _named("--model", given.model, PRESETS), Layout(tp=given.tp)
    on = _named("--chip", given.chip, CHIPS)
    memory.check_split(spec, layout, "--tp")
    cost = AnalyticalCost(spec, on, layout=layout).required()
    room, lacking = _room(cost)
  except ConfigError as error:
    print("\n".join(error.errors), file=sys.stderr)
    return 2
  print("Of an A100, as textbooks have it:")
  print("\n".join([*textbook(), "", *asked(cost, room)]))
  for line in lacking:
    print(f"! does not fit: {line}")
  title = f"{_name(cost)}: simulated, first principles"
  prefills, decodes = points(cost)
  peaks = cost.peak_flops, cost.peak_bytes_per_s
  roofline_picture.draw(given.out, title, peaks, {
      "prefill, prompt tokens in a step": marks(prefills, room),
      f"decode, sequences in a step, {CONTEXT_TOKENS} tokens each":
          marks(decodes, room),
  })
  print(f"drawn: {given.out / 'roofline.png'}")
  return 0


def _named(flag: str, name: str, known: Mapping[str, Any]) -> Any:
  if name not in known:
    raise ConfigError([
        f"{flag}: unknown {name!r}{near(name.lower(), known)}; known:"
        f" {', '.join(known)}"
    ])
  return known[name]


def _room(cost: AnalyticalCost) -> tuple[int, list[str]]:
  """Tokens of KV that fit, or none and why."""
  cost.chip.figure("hbm_bytes")
  try:
    return room_tokens(cost), []
  except ConfigError as error:
    return 0, error.errors


if __name__ == "__main__":
  sys.exit(main())
