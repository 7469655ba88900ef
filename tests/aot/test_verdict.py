"""How many pages fit, computed by hand."""

import dataclasses

from pdjax.aot.compile import Compiled, whole_copies
from pdjax.aot.verdict import verdict
from pdjax.engine import capacity
from pdjax.workload.build import build
from tests.aot.jobs import TARGET, jobs_of, run_of

GB = 10**9


def room(**changes):
  run = run_of(hbm_utilization=0.5)
  (job,) = jobs_of(run)
  pages = capacity.pool_pages_of(job.run)[0] + 1  # with the sentinel
  program = Compiled(
      shape="decode", kind="decode", seconds=1.0, pool_bytes=pages * 1000,
      argument_bytes=pages * 1000 + GB, temp_bytes=2 * GB,
  )
  program = dataclasses.replace(program, **changes)
  found = verdict(job, TARGET, build(run.workload), [program])
  assert found
  return found


def test_pages_fill_what_weights_and_work_leave():
  found = room()
  # 0.5 x 17.18 GB - 1 GB - 2 GB, a page of 1000 bytes, less the sentinel.
  assert found.pages == (int(17.18 * GB) // 2 - 3 * GB) // 1000 - 1
  assert found.tokens == found.pages * 16
  assert found.requests == found.tokens / 48


def test_a_copied_pool_takes_each_page_twice():
  pool_bytes = (512 // 16 + 1) * 1000
  found = room(temp_bytes=pool_bytes + 500, whole_copies=1)
  assert found.pool_copies == 1
  left = int(17.18 * GB) // 2 - GB - 500
  assert found.pages == left // 2000 - 1


def test_what_needs_more_than_there_is_does_not_fit():
  assert room().fits
  assert not room(temp_bytes=8 * GB).fits
  # 512 tokens were asked for: 32 pages and the sentinel.
  left = int(17.18 * GB) // 2 - GB
  assert room(temp_bytes=left - 33 * 1000).fits
  assert not room(temp_bytes=left - 33 * 1000 + 1).fits


def test_nothing_compiled_has_no_verdict():
  run = run_of()
  (job,) = jobs_of(run)
  refused = Compiled(shape="x", kind="decode", seconds=0.0, refused="no")
  assert verdict(job, TARGET, build(run.workload), [refused]) is None


def test_copies_of_the_pool_are_counted():
  text = """
    %a = bf16[4,8]{1,0:T(8,128)(2,1)} copy(bf16[4,8]{0,1} %p)
    %b = (bf16[4,8]{1,0}, u32[]) copy-start(%p)
    %c = bf16[4,9]{1,0} copy(%q)
    %d = bf16[4,8]{1,0} add(%a, %a)
  """
  assert whole_copies(text, {(4, 8)}) == 2
