"""Which programs a config has on a target."""

import collections

import pytest

from pdjax.aot.job import smaller
from pdjax.config import ConfigError
from tests.aot.jobs import jobs_of, run_of


def test_workers_alike_are_compiled_once():
  prefill, decode = jobs_of(run_of("1P3D"))
  assert (prefill.pool.role, prefill.count) == ("P", 1)
  assert (decode.pool.role, decode.count, decode.worker) == ("D", 3, 1)


def test_each_role_has_its_kinds():
  prefill, decode = jobs_of(run_of("1P1D"))
  assert {shape.kind for shape in prefill.shapes} == {"prefill", "gather"}
  assert "scatter" in {shape.kind for shape in decode.shapes}


def test_the_largest_of_each_kind_unless_all_are_wanted():
  (largest,) = jobs_of(run_of())
  (every,) = jobs_of(run_of(), all_buckets=True)
  kinds = collections.Counter(shape.kind for shape in largest.shapes)
  assert set(kinds.values()) == {1}
  assert set(largest.shapes) < set(every.shapes)
  for shape in largest.shapes:
    assert all(
        (shape.B, shape.U) >= (other.B, other.U)
        for other in every.shapes if other.kind == shape.kind
    )


def test_an_open_pool_takes_what_memory_leaves_and_may_shrink():
  (job,) = jobs_of(run_of(kv_tokens=None))
  assert job.pool.kv_tokens and job.pool.kv_tokens > 10_000
  sizes = [job.pool.kv_tokens]
  while (less := smaller(job)) is not None:
    job = less
    sizes.append(job.pool.kv_tokens)
  assert sizes == sorted(sizes, reverse=True)
  assert sizes[-1] >= job.least_tokens >= 48


def test_a_pool_that_was_said_stays():
  (job,) = jobs_of(run_of(kv_tokens=512))
  assert job.pool.kv_tokens == 512
  assert smaller(job) is None


def test_too_few_chips_are_told():
  with pytest.raises(ConfigError, match="need 6 devices, v5e:2x2 has 4"):
    jobs_of(run_of("6C"))
