"""The kernels compile for TPUs that are not there.

Skipped, with the command that would bring it, where the compiler is missing.
The full matrix is `benchmarks/aot_matrix.py`.
"""

import functools

import pytest

from benchmarks import aot
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled
from pdjax.aot.target import missing_compiler, target

CASES = (
    Case(kernel="paged_decode", target="v5e:2x2"),
    Case(kernel="paged_decode", target="v5e:2x2", head_dim=64, page_tokens=64),
    Case(kernel="paged_decode", target="v5e:2x2", kv_dtype="int8"),
    Case(kernel="paged_decode", target="v6e:2x2", head_dim=256, num_kv_heads=1),
    Case(kernel="paged_decode", target="v5p:2x2x1", kv_dtype="float8_e4m3fn"),
    Case(kernel="paged_decode", target="tpu7x:2x2x1", page_tokens=128),
    Case(kernel="chunk_prefill", target="v5e:2x2", rows=256),
    Case(kernel="chunk_prefill", target="v5e:2x2", rows=256, head_dim=64),
    Case(
        kernel="chunk_prefill", target="v6e:2x2", rows=64, dtype="float32",
        kv_dtype="float32",
    ),
    Case(
        kernel="chunk_prefill", target="v5p:2x2x1", rows=64, head_dim=256,
        page_tokens=128,
    ),
    Case(kernel="chunk_prefill", target="tpu7x:2x2x1", rows=64, num_kv_heads=1),
    Case(kernel="kv_move", target="v5e:2x2", rows=8),
    Case(kernel="kv_move", target="tpu7x:2x2x1", rows=8, head_dim=64),
    Case(kernel="kv_move_int8", target="v5e:2x2", rows=8),
    Case(kernel="kv_move_int8", target="v6e:2x2", rows=8, head_dim=64),
    Case(kernel="kv_write", target="v5e:2x2", rows=256),
    Case(kernel="kv_write", target="v5e:2x2", rows=256, head_dim=64),
    Case(kernel="kv_write", target="v5e:2x2", rows=256, kv_dtype="int8"),
    Case(kernel="kv_write", target="v6e:2x2", rows=16, head_dim=256),
    Case(kernel="kv_write", target="tpu7x:2x2x1", rows=16, num_kv_heads=1),
)


@functools.cache
def _compiled() -> dict[Case, Compiled]:
  """All cases, compiled once a session."""
  return dict(aot.compiled(CASES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiles_without_copies_of_the_cache(case):
  if reason := missing_compiler(target(case.target)):
    pytest.skip(reason)
  made = _compiled()[case]
  assert not made.refused
  assert made.whole_copies == 0
  assert aot.share(made) < aot.LIMIT
