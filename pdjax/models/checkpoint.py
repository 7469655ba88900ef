"""Where a model's weights come from, found and opened without reading them.

`model.weights` names random numbers, fetched weights, or a path: a GGUF file,
a Hugging Face folder, or a folder that `pdjax.models.convert` wrote. Each of
these says which model it holds, compares itself with the model it is to be
loaded as, and gives its weights a layer at a time.

Nothing here imports jax: all that can be known to fail is asked before a
device is touched.
"""

import functools
import hashlib
import os
import pathlib
from collections.abc import Sequence

from pdjax import config, inputfile
from pdjax.fieldtypes import shown
from pdjax.models import fetch, gguf_file, hf_folder, orbax_folder
from pdjax.models.gguf_file import GGUFFile
from pdjax.models.hf_folder import HFFolder
from pdjax.models.orbax_folder import OrbaxFolder
from pdjax.models.sizes import spec_of
from pdjax.models.unfit import unfit

Checkpoint = GGUFFile | HFFolder | OrbaxFolder


def path_of(model: config.Model) -> pathlib.Path | None:
  """The file or folder of a model's weights; None if they are random.

  Raises:
    ConfigError: there is nothing of that name.
  """
  if model.weights == "random":
    return None
  if model.weights == "fetched":
    return fetch.fetched_path(model.preset)
  path = inputfile.path_of(model.weights)
  reason = inputfile.refusal(model.weights)
  if reason and not os.path.isdir(path):  # which raises for no name
    raise config.ConfigError([
        f"model.weights: {shown(model.weights)} {reason}; allowed are 'random',"
        " 'fetched', a GGUF file, or a folder of safetensors or of"
        " pdjax.models.convert"
    ])
  return path


def opened(path: pathlib.Path) -> Checkpoint:
  """The weights at a path, their headers read once a process.

  Raises:
    ConfigError: they are of no kind that is known, or not whole.
  """
  if path.is_dir():
    ours = (path / orbax_folder.DESCRIPTION).is_file()
    return (orbax_folder if ours else hf_folder).opened(path)
  if path.suffix in hf_folder.PICKLES:
    raise unfit(
        path,
        "is a pickle, which could run any code when read; convert it to"
        " safetensors",
    )
  if path.suffix == ".safetensors":
    raise unfit(
        path, "lies in a folder with its config.json; name the folder"
    )
  return gguf_file.opened(path)


def check(model: config.Model) -> None:
  """Opens the weights of a model and compares them with its sizes.

  Raises:
    ConfigError: a line for each mistake.
  """
  path = path_of(model)
  if path is not None:
    opened(path).check(spec_of(model))


def identity(path: pathlib.Path) -> dict[str, str]:
  """Weights by name, which may tell their quantisation, and by content."""
  return {"file": path.name, "sha256": _digest(opened(path).files)}


@functools.lru_cache(maxsize=8)
def _digest(files: Sequence[pathlib.Path]) -> str:
  """Of one file its own SHA-256, of several that of their names and sums."""
  sums = [inputfile.sha256_of(path) for path in files]
  if len(sums) == 1:
    return sums[0]
  named = "".join(
      f"{path.name} {digest}\n"
      for path, digest in zip(files, sums, strict=True)
  )
  return hashlib.sha256(named.encode()).hexdigest()
