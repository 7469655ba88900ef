"""Results are whole or absent, never mixed, whoever writes beside us."""

import csv
import dataclasses
import json
import multiprocessing
import os

import pytest

from pdjax.sweep import jsonfile
from pdjax.sweep.store import Store

MADE_BY = {"version": "1", "source_sha256": "a", "device_kind": ""}


def keep(store, cell, fill, made_by=MADE_BY, **summary):
  with store.writing(cell) as folder:
    fill(folder, **summary)
    return store.finish(cell, folder, {"made_by": made_by})


def names(folder):
  return sorted(os.listdir(folder))


def test_making_a_store_writes_nothing(tmp_path, cell):
  store = Store(tmp_path / "x")
  assert store.find(cell, MADE_BY) == (None, "new")
  assert not (tmp_path / "x").exists()


def test_a_finished_run_is_found_again(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = keep(store, cell, fill, value=1)
  assert folder == tmp_path / "runs" / cell.folder_name
  assert store.find(cell, MADE_BY) == (folder, "done")
  assert names(tmp_path / "runs") == [cell.folder_name]


def test_a_run_is_found_under_another_label(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = keep(store, cell, fill)
  other = dataclasses.replace(cell, case="another name")
  assert store.find(other, MADE_BY) == (folder, "done")


def test_other_code_or_devices_make_a_run_stale(tmp_path, cell, fill):
  store = Store(tmp_path)
  keep(store, cell, fill)
  assert store.find(cell, MADE_BY | {"source_sha256": "b"}) == (
      None, "stale: source changed"
  )
  assert store.find(cell, MADE_BY | {"device_kind": "TPU", "version": "2"}) == (
      None, "stale: version, device kind changed"
  )


def test_a_stale_run_is_replaced_and_not_added_to(tmp_path, cell, fill):
  store = Store(tmp_path)
  old = keep(store, cell, fill, value=1)
  (old / "old.txt").write_text("x")
  new = keep(store, cell, fill, MADE_BY | {"version": "2"}, value=2)
  assert names(new) == ["status.json", "summary.json"]
  assert names(tmp_path / "runs") == [cell.folder_name]
  assert [row["value"] for row in store.rows()] == [2]


def test_a_broken_off_run_leaves_nothing(tmp_path, cell, fill):
  store = Store(tmp_path)
  with pytest.raises(KeyboardInterrupt), store.writing(cell) as folder:
    fill(folder, value=1)
    raise KeyboardInterrupt
  assert names(tmp_path / "runs") == []
  assert store.rows() == []


def test_a_run_in_progress_is_not_a_result(tmp_path, cell, fill):
  store = Store(tmp_path)
  with store.writing(cell) as folder:
    fill(folder, value=1)
    assert store.rows() == []
    assert store.find(cell, MADE_BY) == (None, "new")


def test_leftovers_of_a_killed_process_are_swept_up(tmp_path, cell):
  store = Store(tmp_path)
  with store.writing(cell) as folder:
    mine = folder.name
  # The largest process id there can be is nobody's.
  dead = mine.replace(f"-{os.getpid()}-", f"-{2**22 + 1}-")
  (tmp_path / "runs" / dead).mkdir()
  with store.writing(cell) as folder:
    assert names(tmp_path / "runs") == [folder.name]


def test_the_second_of_two_writers_of_one_cell_wins(tmp_path, cell, fill):
  store = Store(tmp_path)
  with store.writing(cell) as ours, store.writing(cell) as theirs:
    fill(ours, value=1)
    fill(theirs, value=2)
    store.finish(cell, theirs, {"made_by": MADE_BY})
    store.finish(cell, ours, {"made_by": MADE_BY})
  assert names(tmp_path / "runs") == [cell.folder_name]
  assert [row["value"] for row in store.rows()] == [1]


def write_many(folder, cell, offset):
  store = Store(folder)
  for number in range(offset, offset + 15):
    one = dataclasses.replace(cell, case=f"c{number % 5}", repeat=number % 5)
    with store.writing(one) as temporary:
      jsonfile.write(temporary / "summary.json", {"value": number})
      store.finish(one, temporary, {"made_by": MADE_BY})
    store.write_summary({"name": "x"})


def test_two_processes_may_write_the_same_cells(tmp_path, cell):
  context = multiprocessing.get_context("spawn")
  writers = [
      context.Process(target=write_many, args=(tmp_path, cell, offset))
      for offset in (0, 100)
  ]
  for writer in writers:
    writer.start()
  for writer in writers:
    writer.join()
  assert [writer.exitcode for writer in writers] == [0, 0]
  store = Store(tmp_path)
  labels = [row["label"] for row in store.rows()]
  assert labels == ["c0", "c1", "c2", "c3", "c4"]
  assert json.loads((tmp_path / "summary.json").read_text()) == store.rows()
  assert len(names(tmp_path / "runs")) == 5


def test_summary_has_a_row_a_run_as_json_and_csv(tmp_path, cell, fill):
  store = Store(tmp_path)
  keep(store, cell, fill, value=1.5, flags=["a", "b"])
  other = dataclasses.replace(cell, case="second", repeat=1)
  keep(store, other, fill, value=None, extra=3)
  rows = store.write_summary({"name": "x"})
  assert [row["label"] for row in rows] == ["plain", "second"]
  assert json.loads((tmp_path / "summary.json").read_text()) == rows
  with open(tmp_path / "summary.csv") as file:
    first, second = csv.DictReader(file)
  assert first["value"] == "1.5" and first["flags"] == '["a","b"]'
  assert second["value"] == "" and second["extra"] == "3"
  assert not [name for name in names(tmp_path) if name.startswith(".tmp")]


def test_a_failure_is_kept_until_the_cell_succeeds(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = store.fail(cell, "it broke", "the log")
  status = json.loads((folder / "status.json").read_text())
  assert (status["state"], status["message"]) == ("failed", "it broke")
  assert (folder / "log.txt").read_text() == "the log"
  assert store.rows() == []
  keep(store, cell, fill)
  assert not (tmp_path / "failed").exists()


def test_json_has_no_nan(tmp_path):
  with pytest.raises(ValueError):
    jsonfile.write(tmp_path / "x.json", {"value": float("nan")})
  assert names(tmp_path) == []
