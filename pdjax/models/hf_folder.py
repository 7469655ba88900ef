"""A Hugging Face folder: config.json, and weights in safetensors files.

Headers are read at once and compared with the model's declared weights. The
weights themselves are read when a device's part of a layer is asked for, in
the axes each one declares.
"""

import functools
import pathlib
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from pdjax.models import hf_config, hf_names
from pdjax.models.jsonfile import read_object
from pdjax.models.safetensors_file import DTYPES, SafetensorsFile, Tensor
from pdjax.models.spec import ModelSpec
from pdjax.models.unfit import unfit
from pdjax.models.weight import Weight

INDEX = "model.safetensors.index.json"
SINGLE = "model.safetensors"
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")


class HFFolder:
  """An open folder.

  Raises:
    ConfigError: it has no readable config or no whole weights.
  """

  def __init__(self, path: pathlib.Path):
    self.path = path
    self.architecture, self.spec = hf_config.read(path)
    self._files = {
        name: SafetensorsFile(path / name) for name in _shards(path)
    }
    self._holder = {
        name: file for file in self._files.values() for name in file.tensors
    }

  @property
  def files(self) -> tuple[pathlib.Path, ...]:
    """What says what the model computes; tokenizers do not."""
    names = ["config.json", *sorted(self._files)]
    return tuple(self.path / name for name in names)

  def check(self, spec: ModelSpec) -> None:
    """Compares the tensors with the model they are to be loaded as.

    Raises:
      ConfigError: a line for each kind of difference.
    """
    lines = [*self.spec.differences(spec)] or [*self._problems(spec)]
    if lines:
      raise unfit(self.path, *lines)

  def layer(self, weight: Weight, index: int) -> "Block | Experts":
    """A weight of one layer, read when it is sliced."""
    form = hf_names.form(weight, self.architecture)
    shape = weight.model_shape[weight.layered :]
    axes = weight.axes[weight.layered :]
    if axes[0] != "experts":
      return self._block(form, shape, layer=index)
    return Experts([
        self._block(form, shape[1:], layer=index, expert=expert)
        for expert in range(shape[0])
    ])

  def _block(
      self, form: hf_names.Form, shape: tuple[int, ...], **numbers: int
  ) -> "Block":
    name = form.name.format(**numbers)
    return Block(self._holder[name], name, form, shape)

  def _problems(self, spec: ModelSpec) -> Iterator[str]:
    wanted = dict(hf_names.tensors(spec, self.architecture))
    missing = [name for name in wanted if name not in self._holder]
    if missing:
      yield f"lacks {_listed(missing)}"
    extra = [name for name in self._holder if name not in wanted]
    extra = [name for name in extra if not _harmless(name, spec)]
    if extra:
      yield f"has {_listed(extra)}, which the model does not use"
    yield from self._misfits(wanted)

  def _misfits(self, wanted: dict[str, tuple[int, ...]]) -> Iterator[str]:
    """A line for each kind of tensor that is bent: its layers are alike."""
    kinds: dict[str, list[str]] = {}
    for name, shape in wanted.items():
      if name in self._holder:
        if misfit := _misfit(self._holder[name].tensors[name], shape):
          kind = re.sub(r"\.\d+\.", ".#.", name)
          kinds.setdefault(kind, []).append(f"has {name!r} {misfit}")
    for first, *others in kinds.values():
      yield first + (f"; {len(others)} more are like it" if others else "")


class Block:
  """One layer's weight in a file; slices of it are arrays in its axes."""

  def __init__(
      self,
      file: SafetensorsFile,
      name: str,
      form: hf_names.Form,
      shape: tuple[int, ...],
  ):
    self._file, self._name = file, name
    self._form, self._shape = form, shape

  def __getitem__(self, index: tuple[slice, ...]) -> np.ndarray:
    bounds = [
        range(size)[part]
        for size, part in zip(self._shape, index, strict=True)
    ]
    rows, columns = self._form.rows, self._form.columns
    found = self._file.block(
        self._name,
        self._flat(bounds, rows),
        self._flat(bounds, columns) if columns else None,
    )
    order = rows + columns
    found = found.reshape([len(bounds[axis]) for axis in order])
    return found.transpose(np.argsort(order))

  def _flat(self, bounds: Sequence[range], axes: tuple[int, ...]) -> slice:
    """Axes as one; only the first of them may be cut."""
    inner = 1
    for axis in axes[1:]:
      assert len(bounds[axis]) == self._shape[axis], f"{axes=} {bounds=}"
      inner *= self._shape[axis]
    first = bounds[axes[0]]
    return slice(first.start * inner, first.stop * inner)


class Experts:
  """One layer's experts; slices of them are arrays [E, ...]."""

  def __init__(self, blocks: list[Block]):
    self._blocks = blocks

  def __getitem__(self, index: tuple[slice, ...]) -> np.ndarray:
    return np.stack([block[index[1:]] for block in self._blocks[index[0]]])


@functools.lru_cache(maxsize=1)
def opened(path: pathlib.Path) -> HFFolder:
  """The folder, its headers read once for all workers."""
  return HFFolder(path)


def _shards(path: pathlib.Path) -> list[str]:
  """Names of the folder's weight files, each of which is there.

  Raises:
    ConfigError: there are none, or one is missing.
  """
  if (path / INDEX).is_file():
    index = read_object(path / INDEX).get("weight_map")
    return _indexed(path, index)
  found = sorted(file.name for file in path.glob("*.safetensors"))
  if SINGLE in found or len(found) == 1:
    return [SINGLE if SINGLE in found else found[0]]
  raise unfit(path, _no_weights(path, found))


def _indexed(path: pathlib.Path, index: object) -> list[str]:
  if not isinstance(index, Mapping) or not all(
      isinstance(name, str) and name == pathlib.PurePath(name).name
      for name in index.values()
  ):
    raise unfit(path / INDEX, "has no weight_map of file names")
  names = sorted(set(index.values()))
  missing = [name for name in names if not (path / name).is_file()]
  if missing or not names:
    raise unfit(
        path,
        f"lacks {_listed(missing or [SINGLE])}, of which {INDEX} speaks",
    )
  return names


def _no_weights(path: pathlib.Path, found: list[str]) -> str:
  if found:
    return f"has {len(found)} safetensors files but no {INDEX}"
  pickles = sorted(
      file.name for file in path.iterdir() if file.suffix in PICKLES
  )
  if pickles:
    return (
        f"has its weights in {pickles[0]}, a pickle, which could run"
        " any code when read; convert it to safetensors"
    )
  return f"has no {SINGLE}"


def _listed(names: Sequence[str]) -> str:
  rest = len(names) - 1
  return f"{names[0]!r}" + (f" and {rest} more" if rest else "")


def _harmless(name: str, spec: ModelSpec) -> bool:
  """A table that is computed, or a tied head written out once more."""
  tied = spec.tie_word_embeddings and name == "lm_head.weight"
  return tied or name.endswith("rotary_emb.inv_freq")


def _misfit(tensor: Tensor, shape: tuple[int, ...]) -> str | None:
  if tensor.dtype not in DTYPES:
    return f"in {tensor.dtype}; known: {', '.join(sorted(DTYPES))}"
  if tensor.shape != shape:
    return f"of shape {[*tensor.shape]}, not {[*shape]}"
  return None
