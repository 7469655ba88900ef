"""Why a file cannot be read, whatever it is."""

import os
from pathlib import Path

import pytest

from pdjax import inputfile


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
  (tmp_path / "trace.csv").write_text("x")
  (tmp_path / "folder").mkdir()
  os.mkfifo(tmp_path / "pipe")
  (tmp_path / "loop").symlink_to("loop")
  (tmp_path / "gone").symlink_to("nowhere")
  monkeypatch.chdir(tmp_path)
  return tmp_path


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("trace.csv", None),
        ("folder", "is a folder, not a file"),
        ("pipe", "is no plain file"),
        ("/dev/null", "is no plain file"),
        ("tracee.csv", "no such file; did you mean 'trace.csv'?"),
        ("folder/../trase.csv",
         "no such file; did you mean 'folder/../trace.csv'?"),
        ("no/x.csv", "no such file; there is no folder 'no' either"),
        ("gone", "no such file"),
        ("zzzzzz", "no such file"),
        ("~nobody_here/x", "no such file; there is no folder '~nobody_here'"
         " either"),
        ("loop", "Too many levels of symbolic links"),
        ("trace.csv/x", "Not a directory"),
        ("x" * 300, "File name too long"),
        ("a\0b", "embedded null byte"),
        ("", inputfile.EMPTY),
        (" ", inputfile.EMPTY),
    ],
)
def test_refusals(name, reason):
  if name == "gone":  # to where nothing is
    assert inputfile.refusal(name).startswith("no such file")
  else:
    assert inputfile.refusal(name) == reason


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("folder", None),
        ("foldr", "no such folder; did you mean 'folder'?"),
        ("no/x", "no such folder"),
        ("trace.csv", "is a file, not a folder of results; did you mean '.'?"),
        ("trace.csv/x", "no folder: Not a directory"),
        ("x" * 300, "no folder: File name too long"),
        ("a\0b", "no folder: embedded null byte"),
    ],
)
def test_refusals_of_folders(name, reason):
  assert inputfile.folder_refusal(Path(name)) == reason
  assert inputfile.folder_refusal("") == inputfile.EMPTY


def test_a_file_that_may_not_be_read(folder, monkeypatch):
  monkeypatch.setattr(os, "access", lambda path, mode: False)
  assert inputfile.refusal("trace.csv") == "may not be read"


def test_a_changed_file_has_another_version(folder):
  before = inputfile.version("trace.csv")
  assert inputfile.version("trace.csv") == before
  (folder / "trace.csv").write_text("longer")
  assert inputfile.version("trace.csv") != before
  assert inputfile.version("nowhere") != inputfile.version("elsewhere")
