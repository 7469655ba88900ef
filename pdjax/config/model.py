"""What is served: sizes, weights and number formats."""

import dataclasses
from typing import Literal

NAMED_WEIGHTS = ("random", "fetched")
"""Values of `model.weights` that are no file."""
FROM_WEIGHTS = "from_weights"
"""Value of `model.preset` that is no preset."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Model:
  preset: str = "llama-3-8b"
  """A name in `pdjax.models.presets`, or `from_weights`: the sizes that the
  weights themselves state."""
  weights: str = "random"
  """`random`, `fetched` (`pdjax.models.fetch`), or a path: a GGUF file, a
  Hugging Face folder, or what `pdjax.models.convert` made of one."""
  dtype: Literal["float32", "bfloat16"] = "bfloat16"
  """Of weights, activations and the KV cache, unless one is said below."""
  weight_dtype: Literal["float32", "bfloat16", "fp8", "int8", "int4"] | None = (
      None
  )
  """Of the layers' matrices as stored; None: `model.dtype`."""
  product_dtype: Literal["float32", "bfloat16", "fp8", "int8"] | None = None
  """Of the arithmetic with them; None: theirs, if it has 8 bits and the chip
  multiplies it, else `model.dtype`."""
  kv_dtype: Literal["float32", "bfloat16", "fp8", "int8"] | None = None
  """Of the KV cache; None: `model.dtype`."""
  seed: int = 0
  """Of random weights."""
