"""Reads a GGUF file of a Llama: sizes, weights in this package's form, tokens.

The `gguf` package parses and dequantises. GGUF keeps matrices as (out, in) and
the rows of query and key heads in the order of interleaved rotary pairs; here
they come back in the axes each weight declares, for rotate-half pairs.
"""

import functools
import pathlib
from typing import Any

import numpy as np

from pdjax import config
from pdjax.models.spec import ModelSpec
from pdjax.models.weight import Weight

_TENSORS = {
    "embed": "token_embd.weight",
    "norm": "output_norm.weight",
    "head": "output.weight",
    "attention_norm": "blk.{}.attn_norm.weight",
    "q": "blk.{}.attn_q.weight",
    "k": "blk.{}.attn_k.weight",
    "v": "blk.{}.attn_v.weight",
    "o": "blk.{}.attn_output.weight",
    "ffn_norm": "blk.{}.ffn_norm.weight",
    "gate": "blk.{}.ffn_gate.weight",
    "up": "blk.{}.ffn_up.weight",
    "down": "blk.{}.ffn_down.weight",
}

_SIZES = {
    "num_layers": "llama.block_count",
    "hidden_size": "llama.embedding_length",
    "num_heads": "llama.attention.head_count",
    "num_kv_heads": "llama.attention.head_count_kv",
    "ffn_size": "llama.feed_forward_length",
    "rope_theta": "llama.rope.freq_base",
    "norm_eps": "llama.attention.layer_norm_rms_epsilon",
}


class GGUFFile:
  """An open file.

  Raises:
    ConfigError: it is no readable GGUF file.
  """

  def __init__(self, path: pathlib.Path):
    import gguf

    self.path = path
    try:
      self._reader = gguf.GGUFReader(path)
    except Exception as error:  # whatever damaged bytes make it raise
      raise config.ConfigError(
          [f"model.weights: {str(path)!r} is no GGUF file ({error})"]
      ) from error

  def field(self, key: str, default: Any = None) -> Any:
    """A value of the metadata, strings and lists as Python objects."""
    field = self._reader.get_field(key)
    return default if field is None else field.contents()

  @functools.cached_property
  def _tensors(self):
    return {tensor.name: tensor for tensor in self._reader.tensors}

  def tensor(self, name: str) -> np.ndarray:
    """A tensor in float32, (out, in).

    Raises:
      ConfigError: the file has no such tensor.
    """
    import gguf

    if name not in self._tensors:
      raise config.ConfigError(
          [f"model.weights: {str(self.path)!r} has no tensor {name!r}"]
      )
    tensor = self._tensors[name]
    return gguf.dequantize(tensor.data, tensor.tensor_type)

  def check(self, spec: ModelSpec) -> None:
    """Compares the file with the model it is to be loaded as.

    Raises:
      ConfigError: architecture or a size differs; a line for each.
    """
    found = {"architecture": self.field("general.architecture")}
    wanted: dict[str, Any] = {"architecture": "llama"}
    if found == wanted:
      for size, key in _SIZES.items():
        found[size], wanted[size] = self.field(key), getattr(spec, size)
      found["vocab_size"] = len(self.field("tokenizer.ggml.tokens", ()))
      wanted["vocab_size"] = spec.vocab_size
    errors = [
        f"model.weights: {str(self.path)!r} has {what} {found[what]!r},"
        f" preset {spec.name} has {want!r}"
        for what, want in wanted.items()
        if not _same(found[what], want)
    ]
    if errors:
      raise config.ConfigError(errors)

  def weight(self, weight: Weight) -> np.ndarray:
    """A declared weight of all its layers, without copies of heads."""
    name, shape = _TENSORS[weight.name], weight.model_shape
    if not weight.layered:
      return _arranged(self.tensor(name), weight.name, shape)
    return np.stack([
        _arranged(self.tensor(name.format(i)), weight.name, shape[1:])
        for i in range(shape[0])
    ])


@functools.lru_cache(maxsize=1)
def opened(path: pathlib.Path) -> GGUFFile:
  """The file, parsed once for all workers and the tokenizer (seconds)."""
  return GGUFFile(path)


def _same(found: Any, wanted: Any) -> bool:
  """Equal; floats as far as float32 holds them."""
  if isinstance(wanted, float) and isinstance(found, float):
    return bool(np.isclose(found, wanted, rtol=1e-6, atol=0))
  return found == wanted


def _arranged(
    matrix: np.ndarray, name: str, shape: tuple[int, ...]
) -> np.ndarray:
  match name:
    case "q" | "k":
      rows = _rotate_half_rows(matrix, heads=shape[1])
      return rows.T.reshape(shape)
    case "v" | "o" | "gate" | "up" | "down":
      return matrix.T.reshape(shape)
    case _:
      return matrix.reshape(shape)


def _rotate_half_rows(matrix: np.ndarray, heads: int) -> np.ndarray:
  """Rows of interleaved pairs (0, 1), (2, 3) .. to pairs (h, h + H / 2)."""
  out, width = matrix.shape
  pairs = matrix.reshape(heads, out // heads // 2, 2, width)
  return pairs.swapaxes(1, 2).reshape(out, width)
