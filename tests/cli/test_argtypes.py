"""Arguments of scripts: a line before any work is done."""

import argparse
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from pdjax.cli import argtypes
from pdjax.config import ConfigError
from pdjax.ranges import Range

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("kind", "text", "reason"),
    [
        (argtypes.whole(1), "0", "must be from 1 to 1000000000, got 0"),
        (argtypes.whole(1), "1.5", "expected a whole number, got '1.5'"),
        (argtypes.number(Range(0, 9, above=True)), "nan",
         "must be above 0 and at most 9, got nan"),
        (argtypes.number(Range(0, 9)), "x", "expected a number, got 'x'"),
        (argtypes.some_of(("one", "two")), "one,twoo",
         "'twoo'; did you mean 'two'?; known: one, two"),
        (argtypes.input_file, "nowhere", "nowhere: no such file"),
        (argtypes.output_file, ".", ".: is a folder; name a file in it"),
        (argtypes.output_file, "", ".: is a folder; name a file in it"),
        (argtypes.output_file, "no/x.md",
         "no/x.md: cannot be written: no such folder"),
        (argtypes.output_folder, "/dev/null",
         "/dev/null: nothing can be made in /dev/null: Not a directory"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, monkeypatch, kind, text, reason):
  monkeypatch.chdir(tmp_path)
  with pytest.raises(argparse.ArgumentTypeError) as told:
    kind(text)
  assert str(told.value) == reason
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("", "an empty name, as of a shell variable that is not set"),
        ("none", "none: no such folder"),
        ("data/one", "data/one: one/a.csv in it: no such file; did you mean"),
        ("other", "other: one/a.csv in it: no such file"),
        ("half", "half: no folder two/ in it"),
    ],
)
def test_a_data_folder_holds_what_is_needed(
    tmp_path, monkeypatch, given, reason
):
  monkeypatch.chdir(tmp_path)
  for folder in ("data/one", "data/two", "other", "half/one"):
    (tmp_path / folder).mkdir(parents=True)
  for folder in ("data", "half"):
    (tmp_path / folder / "one/a.csv").write_text("")
  kind = argtypes.data_folder("one/a.csv", "two/")
  with pytest.raises(argparse.ArgumentTypeError) as told:
    kind(given)
  assert str(told.value).startswith(reason)
  assert kind("data") == Path("data")


def test_what_is_right_is_given(tmp_path, monkeypatch):
  monkeypatch.chdir(tmp_path)
  assert argtypes.whole(1)("7") == 7
  assert argtypes.some_of(("a", "b 2"))("b 2,a") == ["b 2", "a"]
  assert argtypes.output_folder("new/one") == Path("new/one")
  assert argtypes.output_file("new.md") == Path("new.md")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["experiments/roofline.py", "--tp=0"], "argument --tp: must be from"),
        (["experiments/roofline.py", "--tp=3"],
         "--tp: tp 3 does not divide the 32 query heads of llama-3-8b"),
        *(
            ([f"experiments/{name}.py", "--data=kernels"],
             "argument --data: kernels: ")
            for name in (
                "distserve_figure1", "distserve_sharegpt", "fidelity_table",
                "vllm_replay",
            )
        ),
        (["experiments/roofline.py", "--out=/dev/null"],
         "nothing can be made in /dev/null"),
        (["-m", "benchmarks.simulator", "README.md", "--repeats=1"],
         "README.md:1: missing column TIMESTAMP"),
        (["-m", "benchmarks.simulator", "--synthetic=4", "--cases=4P"],
         "'4P'; did you mean '4P4D'?"),
    ],
)
def test_scripts_end_in_a_line(arguments, line):
  found = os.pathsep.join([str(ROOT), str(ROOT / "kernels")])
  ended = subprocess.run(
      [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True,
      env=os.environ | {"PYTHONPATH": found},
  )
  assert ended.returncode == 2 and "Traceback" not in ended.stderr
  assert line in ended.stderr.splitlines()[-1]


def test_mistakes_come_whole_from_another_process():
  mistakes = ConfigError(["a.b: one", "c: two"])
  copied = pickle.loads(pickle.dumps(mistakes))
  assert copied.errors == mistakes.errors and str(copied) == str(mistakes)
