"""Reads a GGUF file of a Llama: sizes, weights in this package's form, tokens.

The `gguf` package parses and dequantises. GGUF keeps matrices as (out, in) and
the rows of query and key heads in the order of interleaved rotary pairs; here
they come back in the axes each weight declares, for rotate-half pairs.
"""

import functools
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from pdjax.models import declared, size_ranges
from pdjax.models.spec import ModelSpec
from pdjax.models.unfit import unfit
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
    "max_position_embeddings": "llama.context_length",
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
      raise unfit(path, f"is no GGUF file ({error})") from error

  def field(self, key: str, default: Any = None) -> Any:
    """A value of the metadata, strings and lists as Python objects.

    Raises:
      ConfigError: the value cannot be read.
    """
    field = self._reader.get_field(key)
    try:
      return default if field is None else field.contents()
    except (ValueError, IndexError) as error:
      raise unfit(self.path, f"has a damaged {key} ({error})") from error

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
      raise unfit(self.path, f"has no tensor {name!r}")
    tensor = self._tensors[name]
    return gguf.dequantize(tensor.data, tensor.tensor_type)

  @property
  def files(self) -> tuple[pathlib.Path, ...]:
    """What says what the model computes."""
    return (self.path,)

  @functools.cached_property
  def spec(self) -> ModelSpec:
    """Sizes of the model in the file, named after it.

    Raises:
      ConfigError: it is no plain Llama, or the file does not say all.
    """
    if whys := [*self._problems()]:
      raise unfit(self.path, *whys)
    sizes = {ours: self.field(key) for ours, key in _SIZES.items()}
    return ModelSpec(
        name=self.path.stem,
        source="its metadata",
        **sizes,
        head_dim=self.field(
            "llama.attention.key_length",
            sizes["hidden_size"] // sizes["num_heads"],
        ),
        vocab_size=len(self.field("tokenizer.ggml.tokens")),
        rope_theta=float(self.field("llama.rope.freq_base", 10_000.0)),
        tie_word_embeddings=_TENSORS["head"] not in self._tensors,
    )

  def _problems(self) -> Iterator[str]:
    kind = self.field("general.architecture")
    if kind != "llama":
      yield f"has architecture {kind!r}; known: 'llama'"
      return
    for key in (*_SIZES.values(), "tokenizer.ggml.tokens"):
      if self.field(key) is None:
        yield f"lacks {key}"
    more = {
        "head_dim": "llama.attention.key_length",
        "rope_theta": "llama.rope.freq_base",
    }
    yield from size_ranges.mistakes({
        ours: (key, self.field(key))
        for ours, key in {**_SIZES, **more}.items()
    })
    if self.field("llama.rope.scaling.type", "none") != "none" or (
        "rope_freqs.weight" in self._tensors
    ):
      yield "stretches its rotations, which is read from safetensors only"
    if self.field("llama.expert_count"):
      yield "has experts, which are read from safetensors only"

  def check(self, spec: ModelSpec) -> None:
    """Compares the file with the model it is to be loaded as.

    Raises:
      ConfigError: a size differs or a tensor is missing; a line for each.
    """
    lines = self.spec.differences(spec)
    if not lines:
      names = [
          _TENSORS[weight.name].format(layer)
          for weight in declared.weights(spec).values()
          for layer in range(weight.shape[0] if weight.layered else 1)
      ]
      missing = [name for name in names if name not in self._tensors]
      lines = [f"lacks {name!r}" for name in missing[:1]]
    if lines:
      raise unfit(self.path, *lines)

  def layer(self, weight: Weight, index: int) -> np.ndarray:
    """A declared weight of one layer, without copies of heads."""
    name = _TENSORS[weight.name].format(index)
    shape = weight.model_shape[weight.layered :]
    return _arranged(self.tensor(name), weight.name, shape)


@functools.lru_cache(maxsize=1)
def opened(path: pathlib.Path) -> GGUFFile:
  """The file, parsed once for all workers and the tokenizer (seconds)."""
  return GGUFFile(path)


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
