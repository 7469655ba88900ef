"""What a device does at best, measured: copied bytes, multiplied matrices.

A share of a published peak mixes two things that were never measured together;
kernels are compared with these instead.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

COPY_BYTES = 2**30
MATMUL_SIZE = 8192


def seconds_of(
    call: Callable[[], Any], *, least_s: float = 0.2, rounds: int = 5
) -> float:
  """Median seconds of a call, once compiled.

  A round is as many calls in a row as take `least_s`, waited for together:
  what it costs to start one is hidden where the device is slower than that.
  """
  jax.block_until_ready(call())
  calls = 1
  while (spent_s := _row_s(call, calls)) < least_s:
    calls = max(2 * calls, min(64 * calls, int(calls * least_s / spent_s)))
  return statistics.median(_row_s(call, calls) / calls for _ in range(rounds))


def _row_s(call: Callable[[], Any], calls: int) -> float:
  began = time.perf_counter()
  last = None
  for _ in range(calls):
    last = call()
  jax.block_until_ready(last)
  return time.perf_counter() - began


def copied_bytes_per_s(size_bytes: int = COPY_BYTES, **how: Any) -> float:
  """Bytes read and written of a large array's copy."""
  x = jnp.zeros(size_bytes // 4, jnp.float32)
  copy = jax.jit(lambda x: x + 1)
  return 2 * x.nbytes / seconds_of(lambda: copy(x), **how)


def matmul_flops_per_s(size: int = MATMUL_SIZE, **how: Any) -> float:
  """Of square bfloat16 matrices."""
  key = jax.random.key(0)
  x = jax.random.normal(key, (size, size), jnp.bfloat16)
  multiply = jax.jit(jnp.matmul)
  return 2 * size**3 / seconds_of(lambda: multiply(x, x), **how)
