"""Which blocks a kernel is fastest with, by trying."""

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from pdjax_kernels.chunk_prefill import blocks as prefill
from pdjax_kernels.paged_decode import blocks as decode
from pdjax_kernels.spec import Spec

CANDIDATES: dict[tuple[str, str], tuple[type, dict[str, tuple[int, ...]]]] = {
    ("triton", "paged_decode"): (decode.TritonBlocks, {
        "tokens": (32, 64, 128), "programs": (264, 528, 1056),
        "warps": (2, 4, 8), "stages": (2, 3, 4),
    }),
    ("triton", "chunk_prefill"): (prefill.TritonBlocks, {
        "rows": (64, 128, 256), "tokens": (32, 64, 128), "warps": (4, 8),
        "stages": (2, 3, 4),
    }),
    ("tpu", "paged_decode"): (decode.TpuBlocks, {
        "pages": (4, 8, 16, 32, 64), "heads": (1, 2, 4, 8),
    }),
    ("tpu", "chunk_prefill"): (prefill.TpuBlocks, {
        "tokens": (32, 64, 128, 256), "pages": (4, 8, 16, 32),
        "heads": (1, 2, 4, 8),
    }),
}


def chosen(
    family: str, kernel: str, spec: Spec, device: str | None = None
) -> Any:
  """The blocks that a kernel takes by itself; a guess where no device is."""
  of = {
      ("triton", "paged_decode"): decode.triton_blocks,
      ("triton", "chunk_prefill"): prefill.triton_blocks,
      ("tpu", "paged_decode"): decode.tpu_blocks,
      ("tpu", "chunk_prefill"): prefill.tpu_blocks,
  }
  return of[family, kernel](spec, device)


def candidates(family: str, kernel: str, spec: Spec) -> Iterator[Any]:
  """The guess, then all others that divide the heads."""
  first = chosen(family, kernel, spec)
  yield first
  kind, fields = CANDIDATES[family, kernel]
  for values in itertools.product(*fields.values()):
    blocks = kind(**dict(zip(fields, values, strict=True)))
    if blocks != first and spec.num_kv_heads % getattr(blocks, "heads", 1) == 0:
      yield blocks


@dataclasses.dataclass(frozen=True)
class Tried:
  """The best blocks, and how many were tried."""

  blocks: Any
  seconds: float
  guess_seconds: float
  tried: int
  refused: int
  """That the compiler did not take."""


def best(
    choices: Iterator[Any], seconds: Callable[[Any], float]
) -> Tried | None:
  """The fastest of the choices, the first of which is the guess.

  None where the guess itself is refused: then something else is wrong.
  """
  fastest, refused, tried, guessed_s = None, 0, 0, float("nan")
  for blocks in choices:
    tried += 1
    try:
      spent_s = seconds(blocks)
    except Exception as error:  # whatever a compiler refuses with
      if tried == 1:
        print(f"{blocks}: {error}"[:300], file=sys.stderr)
        return None
      refused += 1
      continue
    if tried == 1:
      guessed_s = spent_s
    if fastest is None or spent_s < fastest[1]:
      fastest = blocks, spent_s
  assert fastest is not None
  return Tried(*fastest, guessed_s, tried, refused)
