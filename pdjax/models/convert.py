"""`python -m pdjax.models.convert SRC DST [--dtype=...]`: weights once, ready.

Reads a Hugging Face folder or a GGUF file and writes an Orbax checkpoint with
its description and tokenizer, which any mesh restores. All of it is written
beside DST and renamed, so DST is there whole or not at all.

The host holds the model once.
"""

import argparse
import pathlib
import sys
import tempfile

from pdjax import config, inputfile
from pdjax.models import checkpoint, declared, orbax_folder
from pdjax.models.orbax_folder import OrbaxFolder
from pdjax.models.tokenizer import has_tokenizer, load_tokenizer

DTYPES = ("float32", "bfloat16")


def convert(
    source: pathlib.Path, target: pathlib.Path, dtype: str = "bfloat16"
) -> None:
  """Writes the weights at `source` to the new folder `target`.

  Raises:
    ConfigError: the source cannot be read, or the target is there already.
  """
  found = _checked(source, target)
  target.parent.mkdir(parents=True, exist_ok=True)
  with tempfile.TemporaryDirectory(dir=target.parent) as work:
    part = pathlib.Path(work) / target.name
    part.mkdir()
    if has_tokenizer(source):
      load_tokenizer(source).save(part)
    _save(found, part, dtype)
    orbax_folder.describe(part, found.spec, dtype)
    part.replace(target)


def _checked(
    source: pathlib.Path, target: pathlib.Path
) -> checkpoint.GGUFFile | checkpoint.HFFolder:
  """The opened source; nothing has been written when this raises."""
  if target.exists():
    raise config.ConfigError([f"{str(target)!r} is there already"])
  reason = inputfile.refusal(str(source))
  if reason and not source.is_dir():
    raise config.ConfigError([f"{str(source)!r} {reason}"])
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
  import jax
  import jax.numpy as jnp

  from pdjax import mesh as meshes
  from pdjax.models import orbax_store, weights

  mesh = meshes.make_mesh(jax.devices("cpu"), 1)
  arrays = {
      name: weights.place(weight, found, jnp.dtype(dtype), mesh)
      for name, weight in declared.weights(found.spec).items()
  }
  orbax_store.save(folder / orbax_folder.WEIGHTS, arrays)


def main(arguments: list[str]) -> int:
  """Converts; returns the exit status."""
  parser = argparse.ArgumentParser(
      prog="python -m pdjax.models.convert",
      description="Weights as an Orbax checkpoint that any mesh restores.",
  )
  parser.add_argument(
      "source", type=pathlib.Path, help="a Hugging Face folder or GGUF file"
  )
  parser.add_argument("target", type=pathlib.Path, help="a new folder")
  parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
  asked = parser.parse_args(arguments)
  try:
    convert(asked.source, asked.target, asked.dtype)
  except config.ConfigError as error:
    print(error, file=sys.stderr)
    return 2
  except OSError as error:
    print(f"cannot write {str(asked.target)!r}: {error}", file=sys.stderr)
    return 2
  files = (path for path in asked.target.rglob("*") if path.is_file())
  size = sum(path.stat().st_size for path in files)
  print(f"{asked.target}: {asked.dtype}, {size / 1e6:.3g} MB")
  return 0


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
