"""DistServe's lines as a cost model: by hand, as runs, and their limits."""

import json

import pytest

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.profiles import distserve

MS = 10**9
PROFILE = {
    "org/llama-2-7b": {
        "2": {
            "decoding_large_small_bs_threshold": 10,
            "prefill": [10.0, 0.5, 0.001],
            "decoding_smallbs": [8.0, 0.01, 0.1],
            "decoding_largebs": [5.0, 0.01, 0.4],
        }
    }
}


@pytest.fixture(name="lines")
def _lines(tmp_path):
  path = tmp_path / "profile.json"
  path.write_text(json.dumps(PROFILE))
  return distserve.read(path)["llama-2-7b", 2]


def test_prefill_by_hand(lines):
  # 10 + 0.5 * (20 + 40) + 0.001 * (400 + 1600)
  shape = StepShape(((20, 0), (40, 0)))
  assert lines.segments(shape) == (Segment(1, 42 * MS),)


def test_a_later_chunk_is_the_difference_of_two_prompts(lines):
  whole = lines.step_ps(StepShape(((30, 0),)))
  first = lines.step_ps(StepShape(((20, 0),)))
  later = lines.step_ps(StepShape(((10, 20),)))
  assert first + later - 10 * MS == whole  # each step has its constant


@pytest.mark.parametrize("seqs, first", [(4, 8 + 2 + 0.4), (10, 5 + 2 + 4)])
def test_a_decode_run_is_a_line(lines, seqs, first):
  (segment,) = lines.segments(StepShape((), seqs, 200, repeats=7))
  assert segment == Segment(7, round(first * MS), seqs * MS // 100)


def test_mixed_steps_pay_one_constant_and_are_extrapolated(lines):
  mixed = StepShape(((20, 0),), 4, 200)
  assert lines.step_ps(mixed) == round((20.4 + 10.4 - 8) * MS)
  assert lines.provenance_of(mixed) == "extrapolated"
  assert lines.provenance_of(StepShape(((10, 20),))) == "extrapolated"
  for shape in (StepShape(((20, 0),)), StepShape((), 4, 200)):
    assert lines.provenance_of(shape) == "measured"


@pytest.mark.data
def test_the_published_file_is_read(data_dir):
  path = data_dir / "profiles/distserve_profiler-a100-80g.distserve.json"
  lines = distserve.read(path)
  assert set(lines) == {
      *(("opt-13b", tp) for tp in (1, 2, 4)),
      *(("opt-66b", tp) for tp in (2, 3, 4, 8)),
  }
  capacity = distserve.capacity_tokens(
      data_dir / "profiles/distserve_max_num_tokens.csv"
  )
  assert capacity["opt-13b", 1, 1] > 60_000
