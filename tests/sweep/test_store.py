"""Results are whole or absent, never mixed, whoever writes beside us."""

import csv
import dataclasses
import json
import multiprocessing
import os

import pytest

from pdjax.sweep import jsonfile, runfiles
from pdjax.sweep.store import Failure, Found, Store, cells_of, runs_of

MADE_BY = {"version": "1", "source_sha256": "a", "device_kind": ""}


def keep(store, cell, fill, made_by=MADE_BY, replace=False, **summary):
  folder = store.begin(cell)
  fill(folder, **summary)
  return store.finish(cell, folder, made_by, replace=replace)


def fail(store, cell, message, log="", made_by=MADE_BY, lasting=True):
  folder = store.begin(cell)
  (folder / runfiles.LOG).write_text(log)
  return store.fail(cell, message, folder, made_by, lasting=lasting)


def names(folder):
  return sorted(os.listdir(folder))


def test_making_a_store_writes_nothing(tmp_path, cell):
  store = Store(tmp_path / "x")
  assert store.find(cell, MADE_BY) == Found(None, "new")
  assert not (tmp_path / "x").exists()


def test_a_finished_run_is_found_again(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = keep(store, cell, fill, value=1)
  assert folder == tmp_path / "runs" / cell.folder_name
  assert store.find(cell, MADE_BY) == Found(folder, "done")
  assert names(tmp_path / "runs") == [cell.folder_name]


def test_a_run_is_found_under_another_label(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = keep(store, cell, fill)
  other = dataclasses.replace(cell, case="another name")
  assert store.find(other, MADE_BY) == Found(folder, "done")


def test_other_code_or_devices_make_a_run_stale(tmp_path, cell, fill):
  store = Store(tmp_path)
  keep(store, cell, fill)
  assert store.find(cell, MADE_BY | {"source_sha256": "b"}) == Found(
      None, "stale: source changed"
  )
  other = MADE_BY | {"device_kind": "TPU", "version": "2"}
  assert store.find(cell, other) == Found(
      None, "stale: version, device kind changed"
  )


def test_a_stale_run_is_replaced_and_not_added_to(tmp_path, cell, fill):
  store = Store(tmp_path)
  old = keep(store, cell, fill, value=1)
  (old / "old.txt").write_text("x")
  new = keep(store, cell, fill, MADE_BY | {"version": "2"}, value=2)
  assert names(new) == ["events.parquet", "status.json", "summary.json"]
  assert names(tmp_path / "runs") == [cell.folder_name]
  assert [row["value"] for row in store.rows()[0]] == [2]


def test_a_run_in_progress_is_not_a_result(tmp_path, cell, fill):
  store = Store(tmp_path)
  fill(store.begin(cell), value=1)
  assert store.rows() == ([], []) and runs_of(tmp_path) == []
  assert store.find(cell, MADE_BY) == Found(None, "new")
  store.clear()
  assert names(tmp_path / "runs") == []


def test_leftovers_of_a_killed_process_are_swept_up(tmp_path, cell):
  store = Store(tmp_path)
  mine = store.begin(cell).name
  # The largest process id there can be is nobody's.
  for pid in (2**22 + 1, 10**30):
    dead = mine.replace(f"-{os.getpid()}-", f"-{pid}-")
    (tmp_path / "runs" / dead).mkdir()
  other = mine.replace(f"-{os.getpid()}-", f"-{os.getppid()}-")
  (tmp_path / "runs" / other).mkdir()
  store.clear()
  kept = store.begin(cell).name
  assert set(names(tmp_path / "runs")) == {kept, other}


def test_leftovers_beside_the_summary_are_swept_up(tmp_path, cell):
  (tmp_path / ".tmp-abc").write_text("half")
  Store(tmp_path).write_summary({})
  assert not (tmp_path / ".tmp-abc").exists()


def test_a_run_finished_meanwhile_stays(tmp_path, cell, fill):
  store = Store(tmp_path)
  ours, theirs = store.begin(cell), store.begin(cell)
  fill(ours, value=1)
  fill(theirs, value=2)
  there = store.finish(cell, theirs, MADE_BY)
  before = there.stat().st_ino
  assert store.finish(cell, ours, MADE_BY) == there
  assert there.stat().st_ino == before
  assert names(tmp_path / "runs") == [cell.folder_name]
  assert [row["value"] for row in store.rows()[0]] == [2]


def test_a_run_is_replaced_where_that_is_asked_for(tmp_path, cell, fill):
  store = Store(tmp_path)
  keep(store, cell, fill, value=1)
  keep(store, cell, fill, value=2, replace=True)
  assert [row["value"] for row in store.rows()[0]] == [2]


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "bytes of": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "has 0 bytes": lambda path: path.write_bytes(b""),
    "not as it was written": lambda path: path.write_bytes(
        b"x" * path.stat().st_size
    ),
}


@pytest.mark.parametrize("name", ["summary.json", "events.parquet"])
@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_run_is_seen_and_replaced(tmp_path, cell, fill, name, how):
  store = Store(tmp_path)
  run = keep(store, cell, fill, value=1)
  DAMAGES[how](run / name)
  found = store.find(cell, MADE_BY)
  assert found.run is None
  assert found.reason.startswith(f"damaged: {name} ") and how in found.reason
  assert keep(store, cell, fill, value=2) == run
  assert store.find(cell, MADE_BY).reason == "done"
  assert [row["value"] for row in store.rows()[0]] == [2]


STATUSES = ("", "{", "[]", "3", "{}", '{"files": 3}', "\udc80", "DIRECTORY")


@pytest.mark.parametrize("text", STATUSES)
def test_a_damaged_status_is_seen(tmp_path, cell, fill, text):
  store = Store(tmp_path)
  run = keep(store, cell, fill, value=1)
  (run / "status.json").unlink()
  if text == "DIRECTORY":
    (run / "status.json").mkdir()
  else:
    data = text.encode("utf-8", "surrogateescape")
    (run / "status.json").write_bytes(data)
  reason = "damaged: status.json is not as it was written"
  assert store.find(cell, MADE_BY) == Found(None, reason)
  rows, (line,) = store.rows()
  assert rows == [] and line.startswith(f"{run}: status.json")
  keep(store, cell, fill, value=2)
  assert [row["value"] for row in store.rows()[0]] == [2]


def test_a_strange_list_of_files_is_no_traceback(tmp_path, cell, fill):
  store = Store(tmp_path)
  run = keep(store, cell, fill, value=1)
  status = jsonfile.read(run / "status.json")
  for strange in (3, {"bytes": 1}, {}, None):
    jsonfile.write(
        run / "status.json", status | {"files": {"summary.json": strange}}
    )
    assert store.find(cell, MADE_BY).run is None


def test_another_cells_run_in_its_place_is_damage(tmp_path, cell, fill):
  store = Store(tmp_path)
  other = dataclasses.replace(cell, repeat=1)
  run = keep(store, other, fill)
  os.rename(run, run.with_name(cell.folder_name))
  reason = store.find(cell, MADE_BY).reason
  assert reason == "damaged: status.json names another cell"


def test_a_file_in_a_runs_place_gives_way(tmp_path, cell, fill):
  store = Store(tmp_path)
  (tmp_path / "runs").mkdir()
  (tmp_path / "runs" / cell.folder_name).write_text("in the way")
  keep(store, cell, fill)
  assert store.find(cell, MADE_BY).reason == "done"


def write_many(folder, cell, replace):
  store = Store(folder)
  for number in range(30):
    one = dataclasses.replace(cell, case=f"c{number % 5}", repeat=number % 5)
    temporary = store.begin(one)
    jsonfile.write(temporary / "summary.json", {"value": number % 5})
    store.finish(one, temporary, MADE_BY, replace=replace)
    assert replace or store.find(one, MADE_BY).run
    store.write_summary({"name": "x"})


@pytest.mark.parametrize("replace", [False, True])
def test_processes_may_write_the_same_cells(tmp_path, cell, replace):
  context = multiprocessing.get_context("spawn")
  writers = [
      context.Process(target=write_many, args=(tmp_path, cell, replace))
      for _ in range(3)
  ]
  for writer in writers:
    writer.start()
  for writer in writers:
    writer.join()
  assert [writer.exitcode for writer in writers] == [0] * 3
  rows, left_out = Store(tmp_path).rows()
  assert [row["label"] for row in rows] == ["c0", "c1", "c2", "c3", "c4"]
  assert [row["value"] for row in rows] == list(range(5)) and not left_out
  assert json.loads((tmp_path / "summary.json").read_text()) == rows
  assert len(names(tmp_path / "runs")) == 5


def test_summary_has_a_row_a_run_as_json_and_csv(tmp_path, cell, fill):
  store = Store(tmp_path)
  keep(store, cell, fill, value=1.5, flags=["a", "b"])
  other = dataclasses.replace(cell, case="second", repeat=1)
  keep(store, other, fill, value=None, extra=3)
  assert store.write_summary({"name": "x"}) == []
  rows, _ = store.rows()
  assert [row["label"] for row in rows] == ["plain", "second"]
  assert json.loads((tmp_path / "summary.json").read_text()) == rows
  with open(tmp_path / "summary.csv") as file:
    first, second = csv.DictReader(file)
  assert first["value"] == "1.5" and first["flags"] == '["a","b"]'
  assert second["value"] == "" and second["extra"] == "3"
  assert not [name for name in names(tmp_path) if name.startswith(".tmp")]


def test_a_failure_is_kept_until_the_cell_succeeds(tmp_path, cell, fill):
  store = Store(tmp_path)
  folder = fail(store, cell, "it broke", "the log")
  status = json.loads((folder / "status.json").read_text())
  assert (status["state"], status["message"]) == ("failed", "it broke")
  assert (folder / "log.txt").read_text() == "the log"
  assert store.rows() == ([], [])
  assert names(tmp_path / "runs") == []
  keep(store, cell, fill)
  assert not (tmp_path / "failed").exists()


def test_a_failure_counts_while_it_would_come_again(tmp_path, cell):
  store = Store(tmp_path)
  assert store.failure(cell, MADE_BY) is None
  folder = fail(store, cell, "it broke")
  assert store.failure(cell, MADE_BY) == Failure(folder, "it broke")
  assert store.failure(cell, MADE_BY | {"source_sha256": "b"}) is None
  assert store.failure(dataclasses.replace(cell, repeat=1), MADE_BY) is None
  fail(store, cell, "killed", lasting=False)
  assert store.failure(cell, MADE_BY) is None


def test_a_failure_without_a_folder_has_no_older_ones_log(tmp_path, cell):
  store = Store(tmp_path)
  folder = fail(store, cell, "it broke", "the log")
  store.fail(cell, "no space", None, MADE_BY, lasting=False)
  assert not (folder / "log.txt").exists()


def loop(path):
  path.symlink_to(path)


@pytest.mark.parametrize("name", [".", "runs", "failed", "figures"])
@pytest.mark.parametrize("make", [lambda path: path.write_text(""), loop])
def test_what_is_no_folder_is_an_obstacle(tmp_path, name, make):
  folder = tmp_path / "x"
  if name != ".":
    folder.mkdir()
  make(folder / name if name != "." else folder)
  (line,) = Store(folder).obstacles()
  assert line.startswith(f"{folder / name}: ")


@pytest.mark.parametrize(
    "name", ["summary.json", "summary.csv", "search.json", ".lock"]
)
def test_what_is_no_file_is_an_obstacle(tmp_path, name):
  store = Store(tmp_path / "x")
  (tmp_path / "x" / name).mkdir(parents=True)
  (line,) = store.obstacles()
  assert line.startswith(f"{tmp_path / 'x' / name}: ")


@pytest.mark.parametrize(
    ("cells", "ids"),
    [
        (5, []),
        ([5], []),
        ([{"cell": 5}, {}, {"cell": "b"}, {"cell": "a"}], ["b", "a"]),
    ],
)
def test_cells_of_the_wrong_shape_have_no_place(tmp_path, cells, ids):
  jsonfile.write(tmp_path / "experiment.json", {"cells": cells})
  assert cells_of(tmp_path) == ids


def test_what_is_above_may_be_an_obstacle(tmp_path):
  loop(tmp_path / "results")
  (line,) = Store(tmp_path / "results" / "x").obstacles()
  assert line.startswith(f"{tmp_path / 'results'}: ")
  assert Store(tmp_path / "a" / "b" / "x").obstacles() == []


def test_a_name_that_no_disk_takes_is_an_obstacle(tmp_path):
  (line,) = Store(tmp_path / "a" / ("x" * 300)).obstacles()
  assert f"nothing can be made in {tmp_path}: " in line
  assert Store(tmp_path / "new" / ".." / ".." / "y").obstacles() == []
  assert not list(tmp_path.iterdir())


def test_json_has_no_nan(tmp_path):
  with pytest.raises(ValueError):
    jsonfile.write(tmp_path / "x.json", {"value": float("nan")})
  assert names(tmp_path) == []
