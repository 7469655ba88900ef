"""Splitwise's table as a cost model: its rows, between them and beyond."""

import pytest

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.profiles import splitwise
from pdjax.simulate.profiles.splitwise import Curve

MS = 10**9
HEAD = (
    "model,hardware,prompt_size,batch_size,token_size,prompt_time,token_time,"
    "tensor_parallel\n"
)
ROWS = """llama2-70b,a100-80gb,100,1,8,10,20,4
llama2-70b,a100-80gb,200,1,8,20,21,4
llama2-70b,a100-80gb,400,1,8,40,23,4
llama2-70b,a100-80gb,400,1,8,42,23,4
llama2-70b,a100-80gb,100,4,8,44,26,4
llama2-70b,a100-80gb,100,8,8,100,30,4
"""


@pytest.fixture(name="table")
def _table(tmp_path):
  path = tmp_path / "table.csv"
  path.write_text(HEAD + ROWS)
  return splitwise.tables(path)["llama-2-70b", 4]


def prompt_ms(table, *chunks):
  return table.segments(StepShape(chunks))[0].first_ps / MS


def test_prompts_by_tokens_together(table):
  assert prompt_ms(table, (100, 0)) == 10
  assert prompt_ms(table, (400, 0)) == 41  # the median of two rows
  assert prompt_ms(table, (150, 0)) == 15
  assert prompt_ms(table, (100, 0), (50, 0)) == 15
  assert prompt_ms(table, (50, 0)) == 10  # below the first row
  # A batch counts where no single prompt is as long.
  assert prompt_ms(table, (800, 0)) == 100
  assert prompt_ms(table, (1600, 0)) == pytest.approx(218)


def test_tokens_by_batch_and_context(table):
  # 100 + 8 // 2 positions each; 0.01 ms more a position at batch 1.
  (segment,) = table.segments(StepShape((), 4, 4 * 104, repeats=3))
  assert segment == Segment(3, 26 * MS, 4 * MS // 100)
  assert table.segments(StepShape((), 4, 4 * 204))[0].first_ps == 30 * MS
  assert table.segments(StepShape((), 6, 6 * 104))[0].first_ps == 28 * MS


def test_what_is_beyond_the_rows_is_extrapolated(table):
  inside = (StepShape(((800, 0),)), StepShape((), 8, 800))
  outside = (
      StepShape(((801, 0),)), StepShape((), 9, 900),
      StepShape(((10, 0),), 1, 100), StepShape(((10, 10),)),
  )
  assert {table.provenance_of(shape) for shape in inside} == {"measured"}
  assert {table.provenance_of(shape) for shape in outside} == {"extrapolated"}


def test_a_price_never_falls_with_more():
  curve = Curve.through({1: 3.0, 2: 2.0, 4: 5.0})
  assert [curve(amount) / MS for amount in (1, 2, 3, 4)] == [3, 3, 4, 5]


@pytest.mark.data
def test_the_published_file_is_read(data_dir):
  tables = splitwise.tables(data_dir / "profiles/splitwise_a100.csv")
  assert set(tables) == {
      ("bloom-176b", 8), *(("llama-2-70b", tp) for tp in (2, 4, 8))
  }
  step = tables["llama-2-70b", 8].segments(StepShape(((2048, 0),)))
  assert step[0].first_ps / MS == pytest.approx(274, abs=1)
