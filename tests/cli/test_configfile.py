"""Config files are found by path or name, and fail in one line."""

import os

import pytest

from pdjax.cli import configfile
from pdjax.cli.listing import listing
from pdjax.config import ConfigError

GOOD = '''"""Does it work?

Yes."""


def get_config():
  return {"name": "n"}
'''


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
  (tmp_path / "configs").mkdir()
  (tmp_path / "configs" / "mine.py").write_text(GOOD)
  (tmp_path / "packaged").mkdir()
  (tmp_path / "packaged" / "theirs.py").write_text(GOOD)
  monkeypatch.chdir(tmp_path)
  monkeypatch.setattr(
      configfile, "packaged_folders", lambda: [tmp_path / "packaged"]
  )
  return tmp_path


@pytest.mark.parametrize(
    "name",
    ["configs/mine.py", "configs/mine", "theirs", "theirs.py",
     "configs/theirs", "configs/theirs.py"],
)
def test_a_file_is_found(name):
  path = configfile.find(name)
  assert path.stem == name.removeprefix("configs/").removesuffix(".py")
  assert configfile.load(path) == {"name": "n"}


def test_a_missing_file_names_a_near_one():
  with pytest.raises(ConfigError) as caught:
    configfile.find("configs/mime.py")
  assert caught.value.errors == [
      "--config=configs/mime.py: no such file; did you mean 'mine'?"
  ]
  with pytest.raises(ConfigError, match="see --list_configs"):
    configfile.find("elsewhere/zzz")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("x = 1\n", "has no function get_config()"),
        ("def get_config():\n  return 3\n", "must return a ConfigDict, got 3"),
        ("def get_config():\n  return 1 / 0\n", "bad.py:2: ZeroDivisionError"),
        ("import no_such\n", "bad.py:1: ModuleNotFoundError"),
        ("def (\n", "bad.py:1: SyntaxError"),
        ("import sys\nsys.exit(0)\n", "bad.py:2: SystemExit: 0"),
        ("raise BaseException('a\\nb')\n", "bad.py:1: BaseException: a b"),
        ("class E(Exception):\n  def __str__(self): return 1 / 0\nraise E\n",
         "bad.py:3: E: no message"),
        ("d = {}\nd['d'] = d\ndef get_config():\n  return d\n",
         "returns a dict that contains itself"),
        ("d = []\nd.append(d)\ndef get_config():\n  return {'a': d}\n",
         "returns a dict that contains itself"),
        ("x = '\0'\n", "bad.py"),
        ("x = 'é'\n", "has no function get_config()"),
    ],
)
def test_a_file_that_fails_is_one_line(folder, text, part):
  (folder / "bad.py").write_text(text)
  with pytest.raises(ConfigError) as caught:
    configfile.load(folder / "bad.py")
  (line,) = caught.value.errors
  assert part in line and "\n" not in line


def test_what_is_no_file_is_one_line(folder):
  os.mkfifo(folder / "pipe.py")
  (folder / "a folder").mkdir()
  (folder / "loop.py").symlink_to(folder / "loop.py")
  for name, part in (
      ("pipe", "is no plain file"), ("pipe.py", "is no plain file"),
      ("a folder", "is a folder"), ("/", "is a folder"), (".", "is a folder"),
      ("loop", "symbolic links"), ("x" * 300, "name too long"),
      ("~nouser/x", "no such file"), ("nowhere/x", "no such file"),
      ("pipe.py/x", "Not a directory"),
  ):
    with pytest.raises(ConfigError) as caught:
      configfile.find(name)
    (line,) = caught.value.errors
    assert part.lower() in line.lower() and line.startswith(f"--config={name}:")


def test_a_config_dict_keeps_the_order_it_was_written_in(folder):
  (folder / "order.py").write_text(
      "from ml_collections import ConfigDict\n"
      "from ml_collections import config_dict\n"
      "def get_config():\n"
      "  c = ConfigDict({'z': {'b': 1, 'a': (2, {'y': 3})}, 'd': None})\n"
      "  c.ref = config_dict.FieldReference(4)\n"
      "  return c\n"
  )
  tree = configfile.load(folder / "order.py")
  assert tree == {"z": {"b": 1, "a": (2, {"y": 3})}, "d": None, "ref": 4}
  assert list(tree) == ["z", "d", "ref"] and list(tree["z"]) == ["b", "a"]


def test_listing_shows_docstrings_and_runs_nothing(folder):
  (folder / "configs" / "odd.py").write_text('"""Odd?"""\nraise SystemExit\n')
  assert listing() == (
      "mine\n  Does it work?\n\n  Yes.\n\nodd\n  Odd?\n\n"
      "theirs\n  Does it work?\n\n  Yes."
  )
