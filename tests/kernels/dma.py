"""Small problems of every kernel that copies, and faults put into them.

For an interpreter that simulates copies and semaphores: it copies at the wait,
and what was never written is NaN. It can hang, so this is a program; it reads
a list of names as JSON and answers each with a line, in order:

    {"right": whether the reference agrees}

Without standard input it tries every fault under both interpreters and prints
the table of docs/decisions/0019; status 1 if one is seen by neither.
"""

import contextlib
import dataclasses
import functools
import json
import sys
from collections.abc import Callable, Iterator
from unittest import mock

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from pdjax_kernels import pages, stream
from pdjax_kernels.chunk_prefill import blocks as prefill_blocks
from pdjax_kernels.chunk_prefill import reference as prefill_reference
from pdjax_kernels.chunk_prefill import tpu as prefill_tpu
from pdjax_kernels.kv_move import blocks as move_blocks
from pdjax_kernels.kv_move import reference as move_reference
from pdjax_kernels.kv_move import tpu as move_tpu
from pdjax_kernels.kv_write import blocks as write_blocks
from pdjax_kernels.kv_write import reference as write_reference
from pdjax_kernels.kv_write import tpu as write_tpu
from pdjax_kernels.paged_decode import blocks as decode_blocks
from pdjax_kernels.paged_decode import reference as decode_reference
from pdjax_kernels.paged_decode import tpu as decode_tpu

from tests.kernels.problems import (
    SCALE,
    TOLERANCE,
    Shape,
    cache,
    jitted,
    packed_tokens,
    queries,
    table,
)

DMA = pltpu.InterpretParams()
"""Copies at the wait; see JAX's Pallas TPU interpret mode."""

SMALL = Shape(N=2, K=1, M=3)
PACKED = Shape(
    N=2, K=1, M=3, H=64, packed=True, dtype="bfloat16", kv_dtype="bfloat16"
)
NARROW = {"window": 9, "soft_cap": 2.0}
C = SMALL.C

Arrays = tuple[np.ndarray, ...]
Problem = Callable[[object], tuple[Arrays, Arrays]]
"""Interpreter -> what the kernel gives, what the reference gives."""


def _prefix_shared(page_BM: np.ndarray) -> np.ndarray:
  page_BM[1:, :2] = page_BM[0, :2]
  return page_BM


def _decode(
    *length: int, shape: Shape = SMALL, shared=False, seed=0, **features
) -> Problem:
  length_B = np.array(length, np.int32)
  page_BM = table(shape, len(length), seed)
  page_BM = _prefix_shared(page_BM) if shared else page_BM

  def both(interpret):
    problem = (
        queries(shape, len(length)), cache(shape, page_BM, length_B), page_BM,
        length_B,
    )
    blocks = decode_blocks.TpuBlocks(pages=1, heads=1)
    return _both(
        decode_tpu.paged_decode, decode_reference.paged_decode, problem,
        {"blocks": blocks, "interpret": interpret},
        {"scale": SCALE, **features},
    )

  return both


def _prefill(
    *parts: tuple[int | None, int], shape: Shape = SMALL, shared=False,
    **features,
) -> Problem:
  R = 3
  parts = (*parts, (None, 16 - sum(n for _, n in parts)))
  row_U, position_U = packed_tokens(parts)
  page_RM = table(shape, R)
  page_RM = _prefix_shared(page_RM) if shared else page_RM
  ends = [first + n for first, n in parts if first is not None]
  ends += [0] * (R - len(ends))

  def both(interpret):
    problem = (
        queries(shape, 16), cache(shape, page_RM, ends), page_RM, row_U,
        position_U,
    )
    blocks = prefill_blocks.TpuBlocks(tokens=8, pages=1, heads=1)
    return _both(
        prefill_tpu.chunk_prefill, prefill_reference.chunk_prefill, problem,
        {"blocks": blocks, "interpret": interpret},
        {"scale": SCALE, **features},
    )

  return both


def _pool(dtype: str, packed=False, pages_=9, cells=C) -> jax.Array:
  width = 64 if packed else 128
  rng = np.random.default_rng(0)
  kv = rng.normal(0, 9, (pages_, 2, 1, cells, width)).astype(np.float32)
  kv = jnp.asarray(kv).astype(dtype)
  return pages.pack(kv) if packed else kv


def _write(
    *runs: tuple[int, int, int], dtype="float32", packed=False
) -> Problem:
  """Runs of (page, first cell, tokens); the sentinel fills up to 16."""
  runs = (*runs, (0, 0, 16 - sum(n for _, _, n in runs)))
  page_T = np.repeat([page for page, _, _ in runs], [n for *_, n in runs])
  cell_T = np.concatenate([np.arange(a, a + n) % 32 for _, a, n in runs])

  def both(interpret):
    kv = _pool(dtype, packed, 5, 32)
    H = kv.shape[-1] // (2 if packed else 1)
    rng = np.random.default_rng(1)
    k_TKH, v_TKH = rng.normal(0, 9, (2, 16, 1, H)).astype(np.float32)
    problem = kv, k_TKH, v_TKH, page_T.astype("i4"), cell_T.astype("i4")
    blocks = write_blocks.TpuBlocks(tokens=8, strips=2)
    got, want = _both(
        write_tpu.kv_write, write_reference.kv_write, problem,
        {"blocks": blocks, "interpret": interpret}, {},
    )
    return (got[0][1:],), (want[0][1:],)  # the sentinel holds rubbish

  return both


def _gather(*page: int, ahead: int = 2) -> Problem:
  page_M = np.array(page, np.int32)
  return lambda interpret: _both(
      move_tpu.gather_pages, move_reference.gather_pages,
      (_pool("bfloat16"), page_M),
      {"blocks": move_blocks.TpuBlocks(pages=ahead), "interpret": interpret},
      {},
  )


def _scatter(*page: int, ahead: int = 2) -> Problem:
  page_M = np.array(page, np.int32)

  def both(interpret):
    staging = -_pool("bfloat16", pages_=len(page))
    return _both(
        move_tpu.scatter_pages, move_reference.scatter_pages,
        (_pool("bfloat16"), staging, page_M),
        {"blocks": move_blocks.TpuBlocks(pages=ahead), "interpret": interpret},
        {},
    )

  return both


def _int8(*page: int, packed: bool) -> Problem:
  """Out as int8 and back to where it came from."""
  page_M = np.array(page, np.int32)

  def round_trip(module, kv, page_M, **how):
    staging = module.gather_int8(kv, page_M, **how)
    return (*staging, module.scatter_int8(kv, *staging, page_M, **how))

  return lambda interpret: _both(
      functools.partial(round_trip, move_tpu),
      functools.partial(round_trip, move_reference),
      (_pool("bfloat16", packed), page_M), {"interpret": interpret}, {},
  )


def _both(kernel, reference, problem, how, features):
  made = jitted(kernel, **how, **features)(*problem)
  want = jitted(reference, **features)(*problem)
  return tuple(
      tuple(np.asarray(x, np.float32) for x in jax.tree.leaves(each))
      for each in (made, want)
  )


PAIR, NEXT = C - 1, C + 1

PROBLEMS: dict[str, dict[str, Problem]] = {
    "paged_decode": {
        "around_a_page_boundary": _decode(PAIR, C, NEXT, 3 * C),
        "empty_slots_between": _decode(0, NEXT, 0, 3 * C),
        "empty_slots_last": _decode(NEXT, 3 * C, 0, 0),
        "nothing_at_all": _decode(0, 0, 0, 0),
        "one_token_each": _decode(1, 1, 1, 1),
        "all_full": _decode(*[3 * C] * 4),
        "shared_pages": _decode(20, 23, 17, 24, shared=True),
        "pages_elsewhere": _decode(PAIR, C, NEXT, 3 * C, seed=3),
        "packed_window_cap": _decode(0, NEXT, 20, 24, shape=PACKED, **NARROW),
    },
    "chunk_prefill": {
        "from_the_start": _prefill((0, 16)),
        "over_a_page_boundary": _prefill((5, 7), (C, 8)),
        "one_token_rows": _prefill((0, 1), (C - 1, 1), (C, 1)),
        "a_row_in_two_programs": _prefill((0, 5), (3, 9)),
        "padding_between": _prefill((2, 3), (None, 6), (10, 4)),
        "only_padding": _prefill(),
        "last_positions": _prefill((3 * C - 4, 4), (2 * C, 8)),
        "shared_pages": _prefill((17, 5), (16, 6), (20, 4), shared=True),
        "packed_window_cap": _prefill(
            (0, 7), (13, 4), (9, 2), shape=PACKED, **NARROW
        ),
    },
    "kv_write": {
        "decodes": _write((1, 0, 1), (2, 31, 1), (3, 7, 1), (4, 8, 1)),
        "one_token": _write((3, 13, 1)),
        "a_chunk_in_two_programs": _write((2, 3, 13)),
        "tokens_up_to_a_strip": _write((1, 0, 8), (2, 8, 8)),
        "more_strips_than_slots": _write(
            (1, 0, 1), (1, 8, 1), (1, 16, 1), (2, 0, 1), (2, 31, 1)
        ),
        "sentinel_between": _write((1, 4, 2), (0, 0, 5), (4, 30, 2)),
        "only_sentinel": _write(),
        "packed": _write(
            (1, 15, 3), (3, 31, 1), (4, 0, 9), dtype="bfloat16", packed=True
        ),
    },
    "gather": {
        "in_order": _gather(1, 2, 3, 4, 5),
        "backwards": _gather(8, 6, 4, 2, 1),
        "one_page_twice": _gather(3, 3, 7, 3, 1),
        "last_and_sentinel": _gather(8, 0, 8, 0, 0),
        "one_at_a_time": _gather(3, 1, 7, 8, 2, ahead=1),
        "all_at_once": _gather(3, 1, 7, 8, 2, ahead=16),
        "int8": _int8(3, 1, 7, packed=False),
        "int8_packed": _int8(8, 2, 1, packed=True),
    },
    "scatter": {
        "in_order": _scatter(1, 2, 3, 4, 5),
        "backwards": _scatter(8, 6, 4, 2, 1),
        "first_and_last": _scatter(0, 8, 1, 7, 4),
        "next_to_each_other": _scatter(5, 4, 6, 3, 7),
        "one_at_a_time": _scatter(3, 1, 7, 8, 2, ahead=1),
        "all_at_once": _scatter(3, 1, 7, 8, 2, ahead=16),
    },
}


class _Shifted:
  """A table of pages read one entry too early."""

  def __init__(self, ref):
    self._ref = ref

  def __getitem__(self, place):
    return self._ref[jnp.maximum(place - 1, 0)]


def _changed(owner, name: str, change: Callable):
  """The attribute replaced by what `change` makes of it."""
  return mock.patch.object(owner, name, change(getattr(owner, name)))


def _stream_shifted(visit):
  return lambda self, *args: visit(
      dataclasses.replace(self, page_ref=_Shifted(self.page_ref)), *args
  )


def _ring_shifted(strip):
  return lambda self, j: strip(
      dataclasses.replace(self, page_ref=_Shifted(self.page_ref)), j
  )


class _NeverWaited:
  def __init__(self, copy):
    self.start, self.wait = copy.start, lambda: None


def _never_waited(make):
  return lambda *args: _NeverWaited(make(*args))


def _longer(place: int):
  """A function whose argument at that place comes one too large."""
  def change(function):
    def changed(*args, **more):
      args = list(args)
      args[place] += 1
      return function(*args, **more)

    return changed

  return change


def _one_short(overlap):
  return lambda M, ahead, copy: overlap(M - 1, ahead, copy)


def _other_cell(fill):
  """Every token one cell further, within its strip."""
  class Cells(_Shifted):
    def __getitem__(self, place):
      return self._ref[place] + 1

  return lambda ring, *args: fill(
      dataclasses.replace(ring, cell_ref=Cells(ring.cell_ref)), *args
  )


def _never_moved(overlap):
  return lambda M, ahead, copy: overlap(
      M, ahead, lambda m: _NeverWaited(copy(m))
  )


def _move_shifted(kernel):
  return lambda page_ref, *args, **more: kernel(
      _Shifted(page_ref), *args, **more
  )


_PAGES = stream.PageStream
FAULTS: dict[str, dict[str, Callable]] = {
    "paged_decode": {
        "no_wait": lambda: _changed(_PAGES, "_wait", lambda _: lambda *_: None),
        "wrong_page": lambda: _changed(_PAGES, "visit", _stream_shifted),
        "mask_one_too_long": lambda: _changed(
            decode_tpu, "_attend", _longer(4)
        ),
    },
    "chunk_prefill": {
        "no_wait": lambda: _changed(_PAGES, "_wait", lambda _: lambda *_: None),
        "wrong_page": lambda: _changed(_PAGES, "visit", _stream_shifted),
        "mask_one_too_long": lambda: _changed(prefill_tpu, "_seen", _longer(4)),
    },
    "kv_write": {
        "no_wait": lambda: _changed(write_tpu._Ring, "read", _never_waited),
        "no_wait_for_the_last": lambda: _changed(
            write_tpu._Ring, "write", _never_waited
        ),
        "wrong_page": lambda: _changed(
            write_tpu._Ring, "_strip", _ring_shifted
        ),
        "cell_one_too_far": lambda: _changed(write_tpu, "_fill", _other_cell),
    },
    "gather": {
        "no_wait": lambda: _changed(move_tpu, "_overlap", _never_moved),
        "wrong_page": lambda: _changed(
            move_tpu, "_gather_kernel", _move_shifted
        ),
        "one_page_short": lambda: _changed(move_tpu, "_overlap", _one_short),
    },
    "scatter": {
        "no_wait": lambda: _changed(move_tpu, "_overlap", _never_moved),
        "wrong_page": lambda: _changed(
            move_tpu, "_scatter_kernel", _move_shifted
        ),
        "one_page_short": lambda: _changed(move_tpu, "_overlap", _one_short),
    },
}
"""What is done to a kernel, by name."""

VICTIM = {
    "paged_decode": "empty_slots_between",
    "chunk_prefill": "over_a_page_boundary",
    "kv_write": "decodes",
    "gather": "in_order",
    "scatter": "in_order",
}
"""The problem on which a kernel's faults are tried."""

CASES = [f"{kernel}/{name}" for kernel in PROBLEMS for name in PROBLEMS[kernel]]
PLANTED = [f"{kernel}!{name}" for kernel in FAULTS for name in FAULTS[kernel]]


def difference(name: str, interpret=DMA) -> float:
  """Largest relative to the tolerance; inf where one is NaN alone."""
  kernel, _, fault = name.partition("!")
  if not fault:
    kernel, _, problem = name.partition("/")
    return _difference(*PROBLEMS[kernel][problem](interpret))
  with _planted(kernel, fault):
    return _difference(*PROBLEMS[kernel][VICTIM[kernel]](interpret))


@contextlib.contextmanager
def _planted(kernel: str, fault: str) -> Iterator[None]:
  """Traces made before and after know nothing of the fault."""
  jitted.cache_clear()
  with FAULTS[kernel][fault]():
    yield
  jitted.cache_clear()


def _difference(got: Arrays, want: Arrays) -> float:
  apart = [
      np.where((a == b) | np.isnan(a) & np.isnan(b), 0, np.abs(a - b))
      for a, b in zip(got, want, strict=True)
  ]
  return max(float(np.nan_to_num(x, nan=np.inf).max()) for x in apart)


def right(name: str) -> bool:
  packed = "packed" in name and not name.startswith(("kv_write", "gather"))
  return difference(name) <= TOLERANCE["bfloat16" if packed else "float32"]


def main() -> int:
  if not sys.stdin.isatty() and (asked := sys.stdin.read().strip()):
    for name in json.loads(asked):
      print(json.dumps({"right": right(name)}), flush=True)
    return 0
  unseen = 0
  print("| kernel | fault | interpret mode | `pltpu.InterpretParams()` |")
  print("|---|---|---|---|")
  for kernel in FAULTS:
    for fault in ("none", *FAULTS[kernel]):
      name = f"{kernel}!{fault}"
      if fault == "none":
        name = f"{kernel}/{VICTIM[kernel]}"
      plain, dma = difference(name, True), difference(name, DMA)
      unseen += fault != "none" and max(plain, dma) < 1e-2
      print(f"| `{kernel}` | {fault} | {plain:.1e} | {dma:.1e} |", flush=True)
  return int(unseen > 0)


if __name__ == "__main__":
  sys.exit(main())
