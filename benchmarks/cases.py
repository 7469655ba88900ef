"""Kernels at the shapes of real models, as functions of abstract arrays.

A case names one kernel, where it is to run and what on; `program` gives what
to compile for it. Nothing here needs a device.

Dimension key: docs/notation.md.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import jax
import jax.numpy as jnp
from pdjax_kernels import pages, xla
from pdjax_kernels.chunk_prefill import tpu as chunk_prefill_tpu
from pdjax_kernels.chunk_prefill import triton as chunk_prefill_triton
from pdjax_kernels.kv_move import reference as kv_move_reference
from pdjax_kernels.kv_move import tpu as kv_move_tpu
from pdjax_kernels.kv_write import tpu as kv_write_tpu
from pdjax_kernels.paged_decode import tpu as paged_decode_tpu
from pdjax_kernels.paged_decode import triton as paged_decode_triton

CONTEXT_TOKENS = 4096
"""Of each sequence."""

CACHE_BYTES = 2**30
"""The least that anyone would serve from: a copy of it stands out."""

TPUS = ("v5e:2x2", "v6e:2x2", "v5p:2x2x1", "tpu7x:2x2x1")
GPUS = ("h200",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
  """One compilation."""

  kernel: str
  target: str
  dtype: str = "bfloat16"
  kv_dtype: str = "bfloat16"
  num_heads: int = 32
  num_kv_heads: int = 8
  head_dim: int = 128
  page_tokens: int = 16
  rows: int = 32
  """Sequences of a decode, tokens of a write or of a prefill."""

  def __str__(self) -> str:
    return (
        f"{self.kernel} {self.target} {self.dtype}/{self.kv_dtype}"
        f" N{self.num_heads} K{self.num_kv_heads} H{self.head_dim}"
        f" page {self.page_tokens} rows {self.rows}"
    )

  @property
  def cache_shape(self) -> tuple[int, ...]:
    """[P, 2, K, C, H], packed where a TPU needs it."""
    packed = 2 * self.head_dim == pages.LANES and self.on_tpu
    pair, width = (1, pages.LANES) if packed else (2, self.head_dim)
    page = (pair, self.num_kv_heads, self.page_tokens, width)
    page_bytes = math.prod(page) * jnp.dtype(self.kv_dtype).itemsize
    return (CACHE_BYTES // page_bytes, *page)

  @property
  def cache_bytes(self) -> int:
    return math.prod(self.cache_shape) * jnp.dtype(self.kv_dtype).itemsize

  @property
  def on_tpu(self) -> bool:
    return ":" in self.target


@dataclasses.dataclass(frozen=True)
class Program:
  """What is compiled."""

  call: Callable
  arguments: tuple[jax.ShapeDtypeStruct, ...]
  donated: tuple[int, ...] = ()


def program(case: Case) -> Program:
  """The kernel of a case with its abstract arguments."""
  match case.kernel:
    case "paged_decode":
      return _decode(case)
    case "chunk_prefill":
      return _prefill(case)
    case "kv_write":
      return _write(case)
    case "kv_move":
      return _move(case)
    case "kv_move_int8":
      return _move_int8(case)
  raise ValueError(f"{case.kernel=}")


def _decode(case: Case) -> Program:
  B, M = case.rows, CONTEXT_TOKENS // case.page_tokens
  module = paged_decode_tpu if case.on_tpu else paged_decode_triton
  call = functools.partial(module.paged_decode, scale=case.head_dim**-0.5)
  return Program(call, (_queries(case), _cache(case), _ints(B, M), _ints(B)))


def _prefill(case: Case) -> Program:
  R, U, M = 8, case.rows, CONTEXT_TOKENS // case.page_tokens
  module = chunk_prefill_tpu if case.on_tpu else chunk_prefill_triton
  call = functools.partial(module.chunk_prefill, scale=case.head_dim**-0.5)
  tables = (_ints(R, M), _ints(U), _ints(U))
  return Program(call, (_queries(case), _cache(case), *tables))


def _write(case: Case) -> Program:
  T = case.rows
  new_TKH = jax.ShapeDtypeStruct(
      (T, case.num_kv_heads, case.head_dim), case.dtype
  )
  return Program(
      kv_write_tpu.kv_write if case.on_tpu else xla.kv_write,
      (_cache(case), new_TKH, new_TKH, _ints(T), _ints(T)), donated=(0,),
  )


def _move(case: Case) -> Program:
  """Out of the cache and back, to the places next to those they came from."""
  module = _mover(case)

  def there_and_back(kv_P2KCH, page_M):
    staging_M2KCH = module.gather_pages(kv_P2KCH, page_M)
    return module.scatter_pages(kv_P2KCH, staging_M2KCH, page_M + 1)

  return Program(
      there_and_back, (_cache(case), _ints(case.rows)), donated=(0,)
  )


def _mover(case: Case):
  """On GPUs pages are moved by XLA."""
  return kv_move_tpu if case.on_tpu else kv_move_reference


def _move_int8(case: Case) -> Program:
  module = _mover(case)

  def there_and_back(kv_P2KCH, page_M):
    payload_M2KCH, scale_M2KC = module.gather_int8(kv_P2KCH, page_M)
    return module.scatter_int8(
        kv_P2KCH, payload_M2KCH, scale_M2KC, page_M + 1
    )

  return Program(
      there_and_back, (_cache(case), _ints(case.rows)), donated=(0,)
  )


def _queries(case: Case) -> jax.ShapeDtypeStruct:
  shape = (case.rows, case.num_heads, case.head_dim)
  return jax.ShapeDtypeStruct(shape, case.dtype)


def _cache(case: Case) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(case.cache_shape, case.kv_dtype)


def _ints(*shape: int) -> jax.ShapeDtypeStruct:
  return jax.ShapeDtypeStruct(shape, jnp.int32)


DTYPES = (
    ("float32", "float32"), ("bfloat16", "bfloat16"), ("bfloat16", "int8"),
    ("bfloat16", "float8_e4m3fn"),
)
WIDTHS = (64, 128, 256)
PAGES = (16, 128, 32, 64)
HEADS = ((32, 8), (8, 1), (8, 8), (32, 8))
"""Query and kv heads, one pair a size of page."""
ROWS = {
    "paged_decode": 32, "chunk_prefill": 512, "kv_write": 512,
    "kv_move": 8, "kv_move_int8": 8,
}


ROUNDS = len(PAGES) * len(WIDTHS)


def matrix(
    kernels: Iterable[str] = tuple(ROWS), targets: Iterable[str] = TPUS,
    rounds: int = ROUNDS,
) -> Iterator[Case]:
  """Every kernel, target, type, head width and page, in rounds.

  A round has every kernel and target with all types, and among these all pages
  (a grouping of heads goes with each) and all widths.
  """
  turns = range(rounds)
  for turn, kernel, target in itertools.product(turns, kernels, targets):
    for i, (dtype, kv_dtype) in enumerate(DTYPES):
      at = (i + turn // len(WIDTHS)) % len(PAGES)
      N, K = HEADS[at]
      yield Case(
          kernel=kernel, target=target, dtype=dtype, kv_dtype=kv_dtype,
          num_heads=N, num_kv_heads=K,
          head_dim=WIDTHS[(i + turn) % len(WIDTHS)], page_tokens=PAGES[at],
          rows=ROWS[kernel],
      )
