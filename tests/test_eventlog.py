"""A log in several blocks is the log in one."""

import numpy as np
import pytest

from pdjax import eventfile
from pdjax import events as ev
from tests.metrics.scripted import hand_made


@pytest.fixture
def blocks_of_three(monkeypatch):
  monkeypatch.setattr(ev, "BLOCK", 3)
  return hand_made()


def test_entries_come_back_in_order(blocks_of_three):
  whole = list(hand_made())
  assert len(blocks_of_three) == len(whole) > 9
  assert list(blocks_of_three) == whole
  assert len(blocks_of_three.blocks) == -(-len(whole) // 3)
  assert blocks_of_three.end_ps == whole[-1][0]


@pytest.mark.parametrize("part", [1, 2, 4, 100])
def test_parts_make_the_same_blocks(part, monkeypatch):
  monkeypatch.setattr(ev, "BLOCK", 5)
  one = hand_made()
  monkeypatch.setattr(ev, "PART", part)
  log = hand_made()
  assert len(log) == len(one) and list(log) == list(one)
  for ours, theirs in zip(log.blocks, one.blocks, strict=True):
    assert ours.times_ps.tolist() == theirs.times_ps.tolist()
    assert list(ours.tables) == list(theirs.tables)


def test_reading_does_not_end_a_log(blocks_of_three):
  before = list(blocks_of_three)
  blocks_of_three.append(before[-1][0] + 5, ev.Preempt(3))
  assert list(blocks_of_three) == [*before, (before[-1][0] + 5, ev.Preempt(3))]


@pytest.mark.parametrize("kind", ev.ENTRIES, ids=lambda kind: kind.__name__)
def test_columns_go_on_from_block_to_block(kind, monkeypatch):
  one = hand_made().columns(kind)
  monkeypatch.setattr(ev, "BLOCK", 3)
  many = hand_made().columns(kind)
  assert one.keys() == many.keys()
  for name, column in one.items():
    for part in ("lengths", "flat"):
      assert np.array_equal(
          getattr(column, part, column),
          getattr(many[name], part, many[name]),
      ), name


def test_blocks_are_row_groups_of_the_file(blocks_of_three, tmp_path):
  path = tmp_path / "events.parquet"
  eventfile.write_log(blocks_of_three, path)
  read = eventfile.read_log(path)
  assert len(read.blocks) == len(blocks_of_three.blocks)
  assert list(read) == list(hand_made())


def test_an_empty_log_has_all_columns():
  log = ev.Log()
  assert not len(log) and log.end_ps == 0 and list(log) == []
  assert len(log.columns(ev.StepEnded)["segment_steps"].flat) == 0
