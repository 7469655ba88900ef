"""Compiled modules are used where they are of the text that is there now.

A copy of the package is compiled in part and served by; the checkout's own
libraries, if it has any, are left alone.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pdjax import accelerated

ROOT = Path(__file__).resolve().parents[1]
BUILT = ("pdjax.pages", "pdjax.schedule.batching", "pdjax.schedule.policies")

SERVE = """
import sys
from pdjax import accelerated
from pdjax.eventfile import write_log
from tests.laws.cluster import load_of, run_config, serve_load

load = load_of((0, 40, 8), (5, 30, 8), (9, 20, 3))
log, _ = serve_load(run_config("chunked"), load)
write_log(log, sys.argv[1])
print(*accelerated.loaded())
"""
FAULTY = """
from pdjax.events import Wake
from pdjax.schedule.batching import make_room
from pdjax.schedule.policies import Composed
from pdjax.schedule.setup import placement_of
from tests.laws.cluster import load_of, run_config, serve_load

class Rule:
  def batch(self, worker, world):
    yield from make_room(3)

class Stubborn:
  def batch(self, worker, world):
    yield Wake(-1)

for rule in Rule(), Stubborn():
  run = run_config("chunked")
  try:
    serve_load(run, load_of((0, 40, 8)), Composed(placement_of(run), rule))
  except Exception as error:
    print(error)
"""


class Copy:
  """A copy of the package, with a cache of its own."""

  def __init__(self, folder):
    self.folder, self.package = folder, folder / "pdjax"
    self.cache = folder / "cache"
    shutil.copytree(
        ROOT / "pdjax", self.package,
        ignore=shutil.ignore_patterns("__pycache__"),
    )

  def python(self, code, *arguments, switch="1"):
    """What a script prints that imports the copy."""
    (self.folder / "script.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-P", self.folder / "script.py", *arguments],
        capture_output=True, text=True, check=False,
        env=os.environ | {
            "PYTHONPATH": f"{self.folder}{os.pathsep}{ROOT}",
            "PDJAX_CACHE": str(self.cache), accelerated.SWITCH: switch,
        },
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

  def served(self, name, **said):
    """(bytes of a log, modules that were compiled)."""
    path = self.folder / name
    compiled = self.python(SERVE, path, **said).split()
    return path.read_bytes(), compiled

  def library(self, name):
    """Where a module's is while nobody has edited it."""
    tag = next((self.cache / "accelerated").iterdir())
    source = accelerated.source_of(name, self.package)
    return accelerated.library_of(name, source, tag)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
  pytest.importorskip("Cython", reason="needs the extra `fast`")
  copy = Copy(tmp_path_factory.mktemp("copy"))
  told = copy.python(f"""
from pathlib import Path
import pdjax
from pdjax.cli.accelerate import build
if __name__ == "__main__":
  print(*build(Path(pdjax.__path__[0]), {BUILT}))
""")
  assert told.count("''") == len(BUILT), told
  return copy


def test_compiled_modules_give_the_same_log(copy):
  plain, none = copy.served("plain", switch="0")
  log, compiled = copy.served("compiled")
  assert log == plain
  assert compiled == [*BUILT] and none == []


def test_faults_are_still_told_with_the_users_line(copy):
  misused, refused = copy.python(FAULTY).splitlines()
  assert re.match(r"\S*script\.py:10: AttributeError", misused)
  assert re.match(r"\S*script\.py:14: Wake\(at_ps=-1\)", refused)


def test_an_edited_module_is_read_and_the_others_are_not(copy):
  source = accelerated.source_of(BUILT[0], copy.package)
  text = source.read_text()
  source.write_text(text + "\nEDITED = True\n")
  told = copy.python("import pdjax.pages; print(pdjax.pages.EDITED)")
  _, compiled = copy.served("edited")
  source.write_text(text)
  assert told.strip() == "True" and compiled == [*BUILT[1:]]


def test_what_cannot_be_loaded_is_read(copy):
  library = copy.library(BUILT[0])
  kept = library.read_bytes()
  library.unlink()
  library.write_bytes(b"no library")
  _, compiled = copy.served("broken")
  library.write_bytes(kept)
  assert compiled == [*BUILT[1:]]


def test_a_library_is_of_one_text_one_place_and_one_module(tmp_path):
  one, other = tmp_path / "one.py", tmp_path / "other.py"
  one.write_text("a = 1\n")
  other.write_text("a = 2\n")
  found = {
      accelerated.library_of(name, source, folder)
      for name in ("pdjax.a", "pdjax.b")
      for source in (one, other)
      for folder in map(accelerated.folder_of, (tmp_path / "x", tmp_path / "y"))
  }
  assert len(found) == 8


def test_the_modules_to_be_compiled_are_there():
  package = ROOT / "pdjax"
  names = accelerated.MODULES
  assert all(accelerated.source_of(n, package).is_file() for n in names)
  assert not {"pdjax.events", "pdjax.eventcolumns"} & {*names}
