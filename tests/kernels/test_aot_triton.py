"""The GPU kernels compile for an H200 that is not there.

Skipped, with the command that would bring it, where the CUDA plugin is missing:
`.ci/extra cuda` brings it. The full matrix is
`benchmarks/aot_matrix.py --targets=h200`.
"""

import functools

import pytest

from benchmarks import aot
from benchmarks.cases import Case
from pdjax.aot.compile import Compiled
from pdjax.aot.target import missing_compiler, target

CASES = (
    Case(kernel="paged_decode", target="h200"),
    Case(
        kernel="paged_decode", target="h200", head_dim=256, page_tokens=128,
        kv_dtype="float8_e4m3fn",
    ),
    Case(kernel="chunk_prefill", target="h200", rows=512),
    Case(
        kernel="chunk_prefill", target="h200", rows=64, head_dim=64,
        kv_dtype="int8", num_kv_heads=1,
    ),
    Case(kernel="kv_write", target="h200", rows=512),
    Case(kernel="kv_move", target="h200", rows=8),
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
