"""What is installed is what the checkout has."""

import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "setuptools"
]
ELSEWHERE = SETTINGS["package-dir"]
"""Package -> its folder, where that is not its name."""

DATA = {".json", ".csv", ".jsonl", ".css", ".html", ".js", ".txtpb"}


def folder_of(package):
  return ROOT / ELSEWHERE.get(package, package.replace(".", "/"))


def packages_below(name):
  top = folder_of(name)
  for folder in (top, *top.rglob("*")):
    if any(folder.glob("*.py")):
      inner = folder.relative_to(top).parts
      yield ".".join((name, *inner))


def test_every_folder_with_modules_is_installed():
  tops = ("pdjax", *ELSEWHERE)
  found = {name for top in tops for name in packages_below(top)}
  assert found == set(SETTINGS["packages"])


def test_every_data_file_is_installed():
  patterns = [
      folder_of(package) / pattern
      for package, some in SETTINGS["package-data"].items()
      for pattern in some
  ]
  tops = [folder_of(top) for top in ("pdjax", *ELSEWHERE)]
  files = [path for top in tops for path in top.rglob("*")]
  data = [path for path in files if path.suffix in DATA]
  assert data
  left = [
      path for path in data
      if not any(fnmatch(str(path), str(pattern)) for pattern in patterns)
  ]
  assert not left


def test_an_example_is_found_wherever_one_stands(tmp_path):
  site = tmp_path / "site"
  (site / "pdjax").mkdir(parents=True)
  for path in (*(ROOT / "pdjax").iterdir(), ROOT / "examples"):
    (site / "pdjax" / path.name).symlink_to(path)
  code = (
      "from pdjax.policyfile import factory_of\n"
      "from pdjax.sweep.source import policy_hash\n"
      "kind = 'examples.my_policy:ShortestFirst'\n"
      "before = policy_hash(kind)\n"
      "print(factory_of(kind)(chunk_size=7)._chunk_size)\n"
      "assert before and before == policy_hash(kind)\n"
      "assert factory_of(kind) is factory_of(kind)\n"
      "try: factory_of('examples.no_such:Rule')\n"
      "except ValueError as error: print(error)\n"
  )
  made = subprocess.run(
      [sys.executable, "-c", code], cwd=tmp_path, text=True, check=True,
      capture_output=True, env=os.environ | {"PYTHONPATH": str(site)},
  )
  first, second = made.stdout.splitlines()
  assert first == "7"
  assert "examples.no_such:Rule" in second and "No module named" in second
