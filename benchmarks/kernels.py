"""Times every kernel on an accelerator, beside XLA and JAX's own, and tunes it.

    python -m benchmarks.kernels [--kernels=a,b] [--tune] [--json=FILE]
        [--tables=FOLDER] [--smoke]

First each kernel is checked against its reference at small sizes, with the
types and heads of every load; if one is wrong nothing is timed and the exit
status is 1. Then what the device copies and multiplies at best is measured, and
every kernel at serving sizes as time, GB/s and share of the copied bytes
(decode, move, write) or TFLOP/s and share of the matrix rate (prefill).
With --tune the blocks of each are searched and written as the device's table,
which the kernels read from then on (`pdjax_kernels.tuned`).

Targets: decode at 80 % or more of the measured copy bandwidth over 262,144
tokens of context or more; bfloat16 prefill at 350 TFLOP/s or more. They are
for an H200 and were never tried: no device has run this so far.

--smoke runs tiny sizes through an interpreter on a CPU, to test this script:
its figures measure nothing.
"""

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from pdjax_kernels import tuned

from benchmarks import contenders, roofs, tuning
from benchmarks.contenders import OURS, Family
from benchmarks.loads import SIZES, Arrays, Load, arrays, loads, tiny

TOLERANCE = {"float32": 2e-5, "bfloat16": 2e-2}
"""Largest difference from another's output, of values around 1."""

DECODE_SHARE, PREFILL_FLOPS = 0.8, 350e12
DECODE_TOKENS = 262_144

SMOKE_WARNING = (
    "SMOKE: interpreted on a CPU at tiny sizes; the figures measure nothing"
)
SMOKE = (
    Load(kernel="paged_decode", num_heads=4, num_kv_heads=2, rows=2, tokens=40,
         dtype="float32", kv_dtype="float32"),
    Load(kernel="chunk_prefill", num_heads=2, num_kv_heads=2, head_dim=64,
         tokens=32, dtype="float32", kv_dtype="float32"),
    Load(kernel="kv_write", rows=2, tokens=16),
    Load(kernel="kv_move", rows=2, tokens=16),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Bench:
  """Where and how it is measured."""

  family: Family
  device: str
  smoke: bool
  copied_bytes_per_s: float = 0.0
  matmul_flops_per_s: float = 0.0

  @property
  def how(self) -> dict[str, Any]:
    return {"least_s": 0.0, "rounds": 1} if self.smoke else {}

  def with_roofs(self) -> "Bench":
    sizes = (2**16, 64) if self.smoke else (roofs.COPY_BYTES, roofs.MATMUL_SIZE)
    return dataclasses.replace(
        self,
        copied_bytes_per_s=roofs.copied_bytes_per_s(sizes[0], **self.how),
        matmul_flops_per_s=roofs.matmul_flops_per_s(sizes[1], **self.how),
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
  """One contender at one load."""

  load: Load
  contender: str
  seconds: float = float("nan")
  error: float | None = None
  """Largest difference from XLA's output."""
  refused: str = ""

  @property
  def bytes_per_s(self) -> float:
    return self.load.moved_bytes / self.seconds

  @property
  def flops_per_s(self) -> float:
    return self.load.flops / self.seconds

  def share(self, bench: Bench) -> float:
    """Of what the device does at best in what bounds the kernel."""
    if self.load.kernel == "chunk_prefill":
      return self.flops_per_s / bench.matmul_flops_per_s
    return self.bytes_per_s / bench.copied_bytes_per_s

  def line(self, bench: Bench) -> str:
    if self.refused:
      return f"  {self.contender:<38} refused: {self.refused}"
    rate = f"{self.bytes_per_s / 1e9:8.0f} GB/s"
    if self.load.kernel == "chunk_prefill":
      rate = f"{self.flops_per_s / 1e12:5.0f} TFLOP/s"
    off = "" if self.error is None else f"  off by {self.error:.1e}"
    return (
        f"  {self.contender:<38} {self.seconds * 1e6:10.1f} us {rate}"
        f" {self.share(bench):6.1%}{off}"
    )


def wrong(checked: Sequence[Load], family: Family) -> Iterator[str]:
  """A line for each kernel that does not keep its contract."""
  for load in dict.fromkeys(map(tiny, checked)):
    if not contenders.attends(load):
      continue
    x = arrays(load)
    with jax.default_matmul_precision("highest"):
      want = contenders.by_reference(load, x)()
    error = _error(contenders.ours(load, x, family, None, None)(), want)
    if not error <= TOLERANCE[load.dtype]:
      yield f"{load}: off by {error:.1e}"


def _error(got: jax.Array, want: jax.Array) -> float:
  wide = (got.astype(jnp.float32), want.astype(jnp.float32))
  return float(jnp.abs(wide[0] - wide[1]).max())


def rows(load: Load, x: Arrays, bench: Bench) -> Iterator[Row]:
  """Every contender, XLA first; some of the others may refuse."""
  if not contenders.attends(load):
    for name, call in contenders.movers(load, x, bench.family).items():
      seconds = roofs.seconds_of(call, **bench.how)
      yield Row(load=load, contender=name, seconds=seconds)
    return
  base = contenders.in_xla(load, x)
  calls = {
      "xla": base,
      OURS: contenders.ours(load, x, bench.family, None, bench.device),
  }
  want = base()
  for name, call in calls.items():
    yield _row(load, name, call, want, bench)
  for name, call in contenders.rivals(
      load, x, bench.family
  ).items():
    yield _row(load, name, call, want, bench)


def _row(load: Load, name: str, call, want, bench: Bench) -> Row:
  try:
    return Row(
        load=load, contender=name, error=_error(call(), want),
        seconds=roofs.seconds_of(call, **bench.how),
    )
  except Exception as error:  # whatever a library refuses with
    first = str(error).strip().partition("\n")[0]
    return Row(load=load, contender=name, refused=first[:120])


def tune(bench: Bench, asked: Sequence[Load], tables: Path | None) -> Path:
  """Writes the table of the device: each spec's blocks at its first load."""
  entries: dict[str, dict[str, Any]] = {}
  for load in asked:
    if not contenders.attends(load):
      continue
    choices = tuning.candidates(bench.family.name, load.kernel, load.spec)
    first = next(choices)
    key = tuned.key(load.kernel, type(first), load.spec)
    if key in entries:
      continue
    found = _best(bench, load, [first, *choices][: 2 if bench.smoke else None])
    if found is not None:
      entries[key] = dataclasses.asdict(found.blocks)
  return tuned.write(bench.device, entries, conditions(bench), tables)


def _best(bench: Bench, load: Load, choices: list[Any]) -> tuning.Tried | None:
  x = arrays(load)
  want = contenders.in_xla(load, x)()

  def seconds(blocks: Any) -> float:
    call = contenders.ours(load, x, bench.family, blocks, None)
    if not _error(call(), want) <= TOLERANCE[load.dtype]:
      raise ValueError("wrong")
    return roofs.seconds_of(call, **bench.how)

  found = tuning.best(iter(choices), seconds)
  if found is not None:
    print(
        f"{load}: {found.blocks}: {found.seconds * 1e6:.1f} us, the guess"
        f" {found.guess_seconds * 1e6:.1f}; {found.tried} tried,"
        f" {found.refused} refused"
    )
  return found


def conditions(bench: Bench) -> dict[str, Any]:
  return {
      "provenance": SMOKE_WARNING if bench.smoke else "measured",
      "device": bench.device,
      "jax": jax.__version__,
      "copied_bytes_per_s": bench.copied_bytes_per_s,
      "matmul_flops_per_s": bench.matmul_flops_per_s,
  }


def verdicts(found: Sequence[Row], bench: Bench) -> Iterator[str]:
  """What came of the targets, a line for each load that they speak of."""
  for row in found:
    load = row.load
    if row.contender != OURS or row.refused:
      continue
    if load.kernel == "paged_decode" and load.context_tokens >= DECODE_TOKENS:
      met = row.share(bench) >= DECODE_SHARE
      says = f"{row.share(bench):.1%} of copy, target {DECODE_SHARE:.0%}"
    elif load.kernel == "chunk_prefill" and load.dtype == "bfloat16":
      met = row.flops_per_s >= PREFILL_FLOPS
      says = f"{row.flops_per_s / 1e12:.0f} TFLOP/s, target 350"
    else:
      continue
    yield f"{'met' if met else 'NOT MET'}: {load}: {says}"


def main(argv: Sequence[str]) -> int:
  asked = _flags(argv)
  bench = _bench(asked.smoke)
  if bench is None:
    print(
        f"no kernels for {jax.devices()[0].platform}: run this on a TPU or an"
        " NVIDIA GPU, or try the script itself with --smoke", file=sys.stderr,
    )
    return 2
  kernels = tuple(asked.kernels.split(","))
  work = [
      load for load in SMOKE if load.kernel in kernels
  ] if asked.smoke else list(loads(kernels, bench.family.packs))
  print(SMOKE_WARNING if asked.smoke else f"measured on {bench.device}")
  if lines := list(wrong(work, bench.family)):
    print("\n".join(["wrong; nothing is timed:", *lines]))
    return 1
  bench = bench.with_roofs()
  print(
      f"copies {bench.copied_bytes_per_s / 1e9:.0f} GB/s, multiplies"
      f" {bench.matmul_flops_per_s / 1e12:.1f} TFLOP/s (bfloat16)"
  )
  if asked.tune:
    print(f"blocks in {tune(bench, work, asked.tables)}")
  found = _timed(work, bench)
  if not asked.smoke:
    print("\n".join(verdicts(found, bench)))
  if asked.json:
    asked.json.write_text(_json(found, bench))
  return int(any(row.contender == OURS and row.refused for row in found))


def _timed(work: Sequence[Load], bench: Bench) -> list[Row]:
  found = []
  for load in work:
    print(load, flush=True)
    for row in rows(load, arrays(load), bench):
      print(row.line(bench), flush=True)
      found.append(row)
  return found


def _json(found: Sequence[Row], bench: Bench) -> str:
  lines = [
      dataclasses.asdict(row) | {"share": row.share(bench)}
      for row in found if not row.refused
  ]
  return json.dumps({"conditions": conditions(bench), "rows": lines}, indent=1)


def _bench(smoke: bool) -> Bench | None:
  device = jax.devices()[0]
  families = {"tpu": Family(name="tpu"), "gpu": Family(name="triton")}
  family = families.get(device.platform)
  if smoke:
    family = Family(name="triton", interpret=True)
  if family is None:
    return None
  return Bench(family=family, device=device.device_kind, smoke=smoke)


def _flags(argv: Sequence[str]) -> argparse.Namespace:
  parser = argparse.ArgumentParser(description="Times all kernels.")
  parser.add_argument("--kernels", default=",".join(SIZES))
  parser.add_argument("--tune", action="store_true")
  parser.add_argument("--tables", type=Path, help="where tables are written")
  parser.add_argument("--json", type=Path)
  parser.add_argument("--smoke", action="store_true")
  return parser.parse_args(argv)


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
