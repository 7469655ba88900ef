"""Number formats, and which of them a model's parts are kept in.

Weights, the operands of matrix products and the KV cache may each have their
own; activations between layers are in the model's. Sizes are in bits, since
weights may have four. Scales of quantised formats are not counted.
"""

import dataclasses

BITS = {"float32": 32, "bfloat16": 16, "fp8": 8, "int8": 8, "int4": 4}


@dataclasses.dataclass(frozen=True, slots=True)
class Dtypes:
  """The formats of one model in one run."""

  activation: str = "bfloat16"
  """Between layers; of embeddings, logits and attention's arithmetic too."""
  weight: str = "bfloat16"
  """Of the layers' matrices, as stored."""
  product: str = "bfloat16"
  """Of what those matrices are multiplied in."""
  kv: str = "bfloat16"

  @classmethod
  def all(cls, dtype: str) -> "Dtypes":
    """One format for everything."""
    return cls(dtype, dtype, dtype, dtype)

  def __str__(self) -> str:
    """What is not in the activations' format is named.

    >>> str(Dtypes()), str(Dtypes(weight="fp8", kv="fp8"))
    ('bfloat16', 'bfloat16 with fp8 weight, fp8 kv')
    """
    parts = (("weight", self.weight), ("product", self.product),
             ("kv", self.kv))
    said = [f"{kept} {part}" for part, kept in parts
            if kept != self.activation]
    return self.activation + (" with " + ", ".join(said) if said else "")

  @property
  def activation_bytes(self) -> int:
    return BITS[self.activation] // 8

  @property
  def weight_bits(self) -> int:
    return BITS[self.weight]

  @property
  def product_bytes(self) -> int:
    return BITS[self.product] // 8

  @property
  def kv_bytes(self) -> int:
    return BITS[self.kv] // 8
