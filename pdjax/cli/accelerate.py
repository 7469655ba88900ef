"""`python -m pdjax.accelerate`: what a simulated run spends its time in,
compiled.

Cython compiles the modules as they are written; nothing else is built of them.
Each one is a process of its own, so that a failure is of one module.
"""

import concurrent.futures
import importlib.util
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pdjax
from pdjax import accelerated
from pdjax.cli import command
from pdjax.cli.arguments import Grammar, read, usage
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError

USAGE = usage("""\
Compiles the scheduler and the simulator: the same runs in less time.

  python -m pdjax.accelerate

Needs a C compiler, Cython (`pip install 'pdjax[fast]'`) and a minute or two.

""", """\
Libraries are kept in a cache ($PDJAX_CACHE, else $XDG_CACHE_HOME/pdjax, else
~/.cache/pdjax), beside nothing that is edited. A module that has been edited
since is read as ever until this is run again, which compiles what is missing.
PDJAX_ACCELERATED=0 leaves the libraries alone. `provenance.json` of a run says
which modules were compiled; no result depends on it.
""", "all compiled", {1: "some are not"})

_DIRECTIVES = {
    "language_level": 3, "annotation_typing": False, "binding": True,
}


def build(
    package: Path, names: Sequence[str] = accelerated.MODULES
) -> Iterator[tuple[str, str]]:
  """Compiles those modules of a package of which there is no library.

  Yields:
    (name, why not); an empty reason: it is compiled now.
  """
  folder = accelerated.folder_of(package)
  folder.mkdir(parents=True, exist_ok=True)
  context = multiprocessing.get_context("spawn")
  with concurrent.futures.ProcessPoolExecutor(
      mp_context=context, max_tasks_per_child=1
  ) as pool:
    under_way = {}
    for name in names:
      source = accelerated.source_of(name, package)
      library = accelerated.library_of(name, source, folder)
      if not library.is_file():
        under_way[pool.submit(_compile, name, source, library)] = name
    for done in concurrent.futures.as_completed(under_way):
      yield under_way[done], done.result()


def _compile(name: str, source: Path, library: Path) -> str:
  """Makes a module's library; returns why it could not."""
  with tempfile.TemporaryDirectory(dir=library.parent) as folder:
    try:
      made = _extension(name, source, Path(folder))
    except BaseException as error:  # setuptools exits
      return f"{type(error).__name__}: {error}".strip().splitlines()[0]
    if accelerated.library_of(name, source, library.parent) != library:
      return "edited meanwhile"
    for old in library.parent.glob(f"{name}-*"):
      old.unlink(missing_ok=True)
    os.replace(made, library)
  return ""


def _extension(name: str, source: Path, folder: Path) -> Path:
  """The file of a module's extension, made in a folder."""
  import Cython.Build  # pyright: ignore[reportMissingImports]
  import setuptools
  from setuptools.command.build_ext import build_ext

  modules = Cython.Build.cythonize(
      [setuptools.Extension(name, [str(source)], extra_compile_args=["-w"])],
      compiler_directives=_DIRECTIVES, build_dir=str(folder / "c"), quiet=True,
  )
  _name_file(Path(modules[0].sources[0]), name, source)
  task = build_ext(setuptools.Distribution({"ext_modules": modules}))
  task.build_lib = task.build_temp = str(folder)
  task.ensure_finalized()
  task.run()
  return Path(task.get_ext_fullpath(name))


def _name_file(made: Path, name: str, source: Path) -> None:
  """Has the frames of a module tell the whole path of its source, by which
  the package's own are told from a user's."""
  text, told = made.read_text(), f'"{name.replace(".", "/")}.py",'
  if text.count(told) != 1:
    raise RuntimeError(f"this Cython does not name {told[:-1]} as expected")
  made.write_text(text.replace(told, f"{json.dumps(str(source))},"))


def main(arguments: Sequence[str]) -> int:
  """Compiles what is missing; returns the exit status."""
  return command.answer(_main, arguments)


def _main(arguments: Sequence[str]) -> int:
  said = read(arguments, Grammar())
  if said.help:
    print(USAGE, end="")
    return OK
  said.expect("no arguments", 0, 0)
  if said.errors:
    raise ConfigError(said.errors)
  for library in ("Cython", "setuptools"):
    if importlib.util.find_spec(library) is None:
      raise ConfigError([
          f"{library} is not installed: pip install 'pdjax[fast]'"
      ])
  package = Path(pdjax.__path__[0])
  failures = 0
  for name, failure in build(package):
    failures += bool(failure)
    told = failure or "compiled"
    print(f"{name}: {told}", file=sys.stderr if failure else sys.stdout)
  missing = f"; {failures} are not" if failures else ""
  print(f"{len(accelerated.MODULES) - failures} modules are compiled{missing}")
  return FAILED if failures else OK
