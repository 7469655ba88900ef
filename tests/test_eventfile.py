"""Every entry survives the parquet form exactly."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pdjax import eventfile
from pdjax import events as ev
from pdjax.request import Request
from pdjax.segments import Segment
from tests.metrics.scripted import hand_made, simulated

PLAIN = Request(id=3, arrival_ps=2**62, prompt_tokens=1, max_tokens=2)
PREFIXED = Request(
    id=0, arrival_ps=0, prompt_tokens=1000, max_tokens=7,
    prefix_ids=(5, 2**40), prefix_block_tokens=512, deadline_ps=2**50,
)
SEGMENTS = (Segment(2, 10**12, 7), Segment(1, 5, -3))
ENTRIES: tuple[ev.Entry, ...] = (
    ev.Arrived(1, PLAIN),
    ev.Arrived(2, PREFIXED),
    ev.StepEnded(9, 1, 0, 4, 3, 3, SEGMENTS, ((0, 2), (3, 1))),
    ev.StepEnded(9, 1, 1, 5, 3, 0, ()),
    ev.TransferProgressed(9, 0, 3, "gathered"),
    ev.TransferEnded(9, 0, 3, 2**40),
    ev.TransferEnded(9, 1, 3, 0, "link down"),
    ev.Cancelled(9, 0),
    ev.Deadline(9, 0),
    ev.Woke(9, 8),
    ev.WorkerLost(9, 1),
    ev.WorkerBack(9, 1),
    ev.Route(0, 1),
    ev.Reserve(0, 1, 60),
    ev.Step(0, ((0, 512), (3, 1)), (7, 8), run=3),
    ev.Step(1, decode=(4,), repeats=99, lane=1, run=4),
    ev.Interrupt(0, 1),
    ev.Transfer(0, 0, 1, (0, 4), transfer=0),
    ev.Transfer(0, 0, 1, (2, 4), 8, 1),
    ev.TransferEnded(9, 2, 3, 2**40, "", "corrupted"),
    ev.Preempt(0),
    ev.Restart(0),
    ev.Release(0, 1),
    ev.Reject(0, "too long"),
    ev.Abort(0, ""),
    ev.Fail(3, "3 transfers failed"),
    ev.Relabel(1, "P"),
    ev.Wake(77),
    ev.Blocked(0, 1, "pages"),
    ev.Unblocked(0),
    ev.Settled(0, 1, 2, 3),
    ev.Displaced(0, 1),
)


def _round_trip(log: ev.Log, folder: Path) -> list:
  path = folder / "events.parquet"
  eventfile.write_log(log, path)
  return list(eventfile.read_log(path))


def _log(entries) -> ev.Log:
  log = ev.Log()
  for index, entry in enumerate(entries):
    log.append(index // 2, entry)
  return log


def test_every_kind_is_tried():
  assert {type(entry) for entry in ENTRIES} == set(ev.ENTRIES)


@pytest.mark.parametrize("entries", [ENTRIES, ENTRIES[::-1], ()])
def test_each_kind_comes_back_in_order(entries, tmp_path):
  log = _log(entries)
  assert _round_trip(log, tmp_path) == list(log)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: type(e).__name__)
def test_alone_too(entry, tmp_path):
  assert _round_trip(_log([entry]), tmp_path) == [(0, entry)]


def test_whole_runs_come_back(tmp_path):
  log = hand_made()
  assert _round_trip(log, tmp_path) == list(log)
  _, log, _, _ = simulated("1P1D", "disaggregated", tight=True)
  assert _round_trip(log, tmp_path) == list(log)


def test_same_log_same_bytes(tmp_path):
  for name in ("a", "b"):
    eventfile.write_log(_log(ENTRIES), tmp_path / name)
  assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_foreign_files_are_refused(tmp_path):
  path = tmp_path / "x.parquet"
  with pytest.raises(eventfile.EventFileError, match="not a readable"):
    eventfile.read_log(path)
  path.write_text("no parquet")
  with pytest.raises(eventfile.EventFileError, match="not a readable"):
    eventfile.read_log(path)
  pq.write_table(pa.table({"a": [1]}), path)
  with pytest.raises(eventfile.EventFileError, match="unknown"):
    eventfile.read_log(path)
  table = eventfile.to_table(hand_made())
  future = table.replace_schema_metadata({"pdjax.events": "99"})
  pq.write_table(future, path)
  with pytest.raises(eventfile.EventFileError, match="99"):
    eventfile.read_log(path)


@pytest.mark.parametrize(
    ("column", "row", "value", "words"),
    [
        ("kind", 0, "Nonsense", "no entry is called 'Nonsense'"),
        ("kind", 0, "Woke", "Woke without"),
        ("worker", 2, None, "StepEnded without worker"),
        ("segment_steps", 2, None, "StepEnded without segment_steps"),
        ("prompt_tokens", 0, None, "Arrived without prompt_tokens"),
        ("prompt_tokens", 0, 0, "must be at least 1"),
    ],
)
def test_rows_that_cannot_be_are_refused(column, row, value, words, tmp_path):
  columns = eventfile.to_table(_log(ENTRIES)).to_pydict()
  columns[column][row] = value
  path = tmp_path / "x.parquet"
  pq.write_table(pa.table(columns, schema=eventfile.SCHEMA), path)
  with pytest.raises(eventfile.EventFileError, match=words) as caught:
    eventfile.read_log(path)
  assert str(caught.value).startswith(str(path))


def test_other_columns_are_refused(tmp_path):
  path = tmp_path / "x.parquet"
  pq.write_table(eventfile.to_table(hand_made()).drop_columns("at_ps"), path)
  with pytest.raises(eventfile.EventFileError, match="columns are not those"):
    eventfile.read_log(path)


def test_every_column_is_documented():
  text = (Path(__file__).parents[1] / "docs" / "events.md").read_text()
  missing = [n for n in eventfile.SCHEMA.names if f"`{n}`" not in text]
  assert not missing
  kinds = [k.__name__ for k in ev.ENTRIES if f"`{k.__name__}`" not in text]
  assert not kinds
