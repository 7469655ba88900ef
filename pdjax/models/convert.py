"""`python -m pdjax.models.convert SRC DST [--dtype=...]`: weights once, ready.

Reads a Hugging Face folder or a GGUF file and writes an Orbax checkpoint with
its description and tokenizer, which any mesh restores. All of it is written
beside DST and renamed, so DST is there whole or not at all. Weights that are
not finite are refused: whatever they computed would be no number.

The host holds the model once.
"""

import argparse
import contextlib
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pdjax import config, inputfile
from pdjax.models import checkpoint, declared, orbax_folder
from pdjax.models.orbax_folder import OrbaxFolder
from pdjax.models.tokenizer import (
    end_ids_of,
    has_tokenizer,
    load_tokenizer,
    save_end_ids,
)

if TYPE_CHECKING:
  import jax

DTYPES = ("float32", "bfloat16")
DTYPE = "bfloat16"


def convert(
    source: pathlib.Path, target: pathlib.Path, dtype: str = DTYPE
) -> None:
  """Writes the weights at `source` to the new folder `target`.

  Raises:
    ConfigError: the source cannot be read, or the target is there already or
      within the source, or weights are not finite.
  """
  found = _checked(source, target)
  with _beside(target) as work:
    part = work / target.name
    part.mkdir()
    if has_tokenizer(source):
      load_tokenizer(source).save(part)
    elif ends := end_ids_of(source):
      save_end_ids(part, ends)
    _save(found, part, dtype)
    orbax_folder.describe(part, found.spec, dtype)
    part.replace(target)


@contextlib.contextmanager
def _beside(target: pathlib.Path) -> Iterator[pathlib.Path]:
  """A passing folder; failure leaves no folder that was not there before."""
  missing = [folder for folder in target.parents if not folder.exists()]
  try:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
      yield pathlib.Path(work)
  except BaseException:
    for folder in missing:
      with contextlib.suppress(OSError):
        folder.rmdir()
    raise


def _checked(
    source: pathlib.Path, target: pathlib.Path
) -> checkpoint.GGUFFile | checkpoint.HFFolder:
  """The opened source; nothing has been written when this raises."""
  if target.exists():
    raise config.ConfigError([
        f"{str(target)!r} is there already; name a new folder, or remove it"
        " first"
    ])
  reason = inputfile.refusal(str(source))
  if reason and not source.is_dir():
    raise config.ConfigError([f"{str(source)!r} {reason}"])
  if source.resolve() in target.resolve().parents:
    raise config.ConfigError([
        f"{str(target)!r} is within {str(source)!r}, which is only read; name"
        " a folder beside it"
    ])
  found = checkpoint.opened(source)
  if isinstance(found, OrbaxFolder):
    raise config.ConfigError([f"{str(source)!r} has been converted already"])
  if found.spec.unrunnable:
    raise config.ConfigError([found.spec.unrunnable])
  found.check(found.spec)
  return found


def _save(
    found: checkpoint.GGUFFile | checkpoint.HFFolder,
    folder: pathlib.Path,
    dtype: str,
) -> None:
  from pdjax.models import orbax_store

  arrays = _arrays(found, dtype)
  lost = [name for name, array in arrays.items() if not _is_finite(array)]
  if lost:
    raise config.ConfigError([
        f"{str(found.path)!r} has weights that are not finite as {dtype}:"
        f" {', '.join(lost)}"
    ])
  orbax_store.save(folder / orbax_folder.WEIGHTS, arrays)


def _arrays(
    found: checkpoint.GGUFFile | checkpoint.HFFolder, dtype: str
) -> "dict[str, jax.Array]":
  """Each declared weight, whole."""
  import jax
  import jax.numpy as jnp

  from pdjax import mesh as meshes
  from pdjax.models import weights

  mesh = meshes.make_mesh(jax.devices("cpu"), 1)
  return {
      name: weights.place(weight, found, jnp.dtype(dtype), mesh)
      for name, weight in declared.weights(found.spec).items()
  }


def _is_finite(array: "jax.Array") -> bool:
  import jax
  import jax.numpy as jnp

  # Compiled, so that no array of truths is made beside the model.
  return bool(jax.jit(lambda values: jnp.isfinite(values).all())(array))


def main(arguments: list[str]) -> int:
  """Converts; returns the exit status."""
  parser = argparse.ArgumentParser(
      prog="python -m pdjax.models.convert", allow_abbrev=False,
      description="Weights as an Orbax checkpoint that any mesh restores.",
  )
  parser.add_argument("source", help="a Hugging Face folder or GGUF file")
  parser.add_argument("target", help="a new folder, not within the source")
  parser.add_argument(
      "--dtype", choices=DTYPES, default=DTYPE,
      help="type of what is written (default: %(default)s)",
  )
  asked = parser.parse_args(arguments)
  try:
    target = _path("target", asked.target)
    convert(_path("source", asked.source), target, asked.dtype)
  except config.ConfigError as error:
    print(error, file=sys.stderr)
    return 2
  except OSError as error:
    print(f"cannot write {asked.target!r}: {error}", file=sys.stderr)
    return 2
  print(f"{asked.target!r}: {_summary(target)}")
  return 0


def _path(name: str, text: str) -> pathlib.Path:
  if not text:  # which as a path would be the current folder
    raise config.ConfigError([f"{name}: is empty; name a folder or file"])
  return pathlib.Path(text)


def _summary(folder: pathlib.Path) -> str:
  """What a converted folder holds, as it lies there."""
  made = OrbaxFolder(folder)
  files = (path for path in folder.rglob("*") if path.is_file())
  size_bytes = sum(path.stat().st_size for path in files)
  return (
      f"{made.dtype}, {made.spec.num_params:,} parameters,"
      f" {size_bytes / 1e6:,.1f} MB on disk"
  )


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
