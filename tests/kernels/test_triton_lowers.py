"""What a GPU is given, seen without one: lowered, not compiled, not run.

Lowering makes the Triton program itself, and refuses shapes that are no powers
of two and operations that Triton lacks. Compiling it needs the CUDA plugin:
`benchmarks/aot_matrix.py --targets=h200`.
"""

import functools

import jax
import jax.numpy as jnp
import pytest
from pdjax_kernels import xla
from pdjax_kernels.chunk_prefill import triton as prefill
from pdjax_kernels.paged_decode import triton as decode

from pdjax import kv

B, M = 4, 8


HOPPER = jax.sharding.AbstractMesh((1,), ("x",), abstract_device=(
    jax.sharding.AbstractDevice(
        device_kind="NVIDIA H200", num_cores=132, platform="cuda"
    )
))
"""JAX asks for a device from 0.11 on."""


def _lowered(call, *arguments) -> str:
  shapes = (jax.ShapeDtypeStruct(*argument) for argument in arguments)
  with jax.sharding.use_abstract_mesh(HOPPER):
    traced = jax.jit(call).trace(*shapes)
    return traced.lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize("N, K, H, C, dtype, kv_dtype, features", [
    (32, 8, 128, 16, "bfloat16", "bfloat16", {}),
    (28, 4, 64, 24, "bfloat16", "float8_e4m3fn", {"window": 100}),
    (2, 2, 256, 128, "float32", "float32", {"soft_cap": 30.0}),
    (8, 1, 128, 64, "bfloat16", "int8", {"window": 7, "soft_cap": 30.0}),
    (8, 1, 128, 64, "float32", "float8_e5m2", {}),
])
def test_attention_is_one_triton_program(
    N, K, H, C, dtype, kv_dtype, features
):
  cells, table = ((B * M + 1, 2, K, C, H), kv_dtype), ((B, M), "int32")
  queries, row = ((B, N, H), dtype), ((B,), "int32")
  for call, rows in ((decode.paged_decode, 1), (prefill.chunk_prefill, 2)):
    text = _lowered(
        functools.partial(call, scale=0.1, **features),
        queries, cells, table, *[row] * rows,
    )
    assert "triton" in text


def _unique(text: str) -> list[bool]:
  """Of each scatter, whether its compiler is told that no cell comes twice."""
  scatters = [x for x in text.split("\n") if "stablehlo.scatter" in x]
  return ["unique_indices = true" in x for x in scatters]


def test_on_a_gpu_tokens_and_pages_are_stored_without_compare_and_swap():
  cells, new = ((9, 2, 2, 16, 64), "bfloat16"), ((3, 2, 64), "bfloat16")
  place = ((3,), "int32")
  arguments = (cells, new, new, place, place)
  assert _unique(_lowered(xla.kv_write, *arguments)) == [True]
  on_cpu = jax.jit(xla.kv_write).trace(
      *(jax.ShapeDtypeStruct(*x) for x in arguments)
  ).lower(lowering_platforms=("cpu",)).as_text()
  assert _unique(on_cpu) == [False]
  pool, staged = ((2, *cells[0]), cells[1]), ((2, 3, *cells[0][1:]), cells[1])
  assert _unique(_lowered(kv.scatter_pages, pool, staged, place)) == [True]


def test_padding_of_a_scatter_leaves_the_sentinel_alone():
  pool = jnp.zeros((2, 5, 2, 1, 2, 4))
  staged = jnp.ones((2, 4, 2, 1, 2, 4))
  after = kv.scatter_pages(pool, staged, jnp.array([3, 0, 1, 0]))
  assert after.sum(axis=(0, 2, 3, 4, 5)).tolist() == [0, 32, 0, 32, 0]
