"""The matrix products of a model's pass, as one chip computes them.

Made once for a model on a layout; how many rows they have is a step's affair.
A tensor-parallel group cuts queries, keys and values by heads and the
feed-forward block by width; what it cannot cut (latent projections, routers,
kv heads fewer than chips) every chip computes. Experts are dealt to the parts
of an expert-parallel layout, each cut over the chips of its part.

Units: `_bits` bits; sizes are counts of values.
"""

import dataclasses
import math

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.memory import kv_copies
from pdjax.models.spec import Experts, ModelSpec


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Product:
  """[rows, inner] x [inner, outer], `count` times in a pass."""

  group: str
  inner: int
  outer: int
  count: int
  """Layers that have it, over all stages."""
  weight_bits: int
  value_bytes: int
  """Of each value that goes in or comes out."""
  dtype: str
  """What the arithmetic is in."""
  experts: Experts | None = None
  """Set where the matrix is one of many and tokens choose among them."""
  held: int = 1
  """Matrices of the many that one chip holds."""

  def load(self, tokens: int, layout: Layout) -> tuple[int, int]:
    """(matrices used, rows of each) on one chip of a pass over `tokens`.

    Tokens choose experts evenly: each expert is missed by a token with chance
    1 - per_token / count. Where experts are dealt, a step waits for the part
    with the most of those used: at least their mean, rounded up.
    """
    if self.experts is None:
      return 1, -(-tokens // layout.dp)
    count, chosen = self.experts.count, self.experts.per_token
    touched = 1 - (1 - chosen / count) ** tokens
    used = self.held * touched
    used = max(1, round(used) if self.held == count else math.ceil(used))
    return used, -(-tokens * chosen * self.held // (count * used))

  def flops(self, tokens: int, layout: Layout) -> int:
    """Of one chip, nothing rounded up but tokens to whole ones."""
    rows = -(-tokens // layout.dp)
    if self.experts is not None:
      chosen = tokens * self.experts.per_token * self.held
      rows = -(-chosen // self.experts.count)
    return 2 * self.count * rows * self.inner * self.outer

  def bytes(self, matrices: int, rows: int) -> int:
    """Moved by `count` passes through the matrices, each read once."""
    weights = self.inner * self.outer * self.weight_bits // 8
    values = rows * (self.inner + self.outer) * self.value_bytes
    return self.count * matrices * (weights + values)


def products_of(
    spec: ModelSpec, layout: Layout, dtypes: Dtypes
) -> tuple[Product, ...]:
  """Of every layer; the unembedding is `unembedding_of`."""
  made = (*_attention(spec, layout.tp), *_feed_forward(spec, layout))
  return tuple(
      Product(
          group=group, inner=inner, outer=outer, count=count,
          weight_bits=dtypes.weight_bits, value_bytes=dtypes.product_bytes,
          dtype=dtypes.product, **many,
      )
      for group, inner, outer, count, many in made
  )


def unembedding_of(
    spec: ModelSpec, layout: Layout, dtypes: Dtypes
) -> Product:
  """Logits; quantised models keep this matrix as it was."""
  return Product(
      group="unembedding", inner=spec.hidden_size,
      outer=_cut(spec.vocab_size, layout.tp), count=1,
      weight_bits=8 * dtypes.activation_bytes,
      value_bytes=dtypes.activation_bytes, dtype=dtypes.activation,
  )


_Made = tuple[str, int, int, int, dict]


def _attention(spec: ModelSpec, tp: int) -> list[_Made]:
  d, layers = spec.hidden_size, spec.num_layers
  heads = _cut(spec.num_heads, tp)
  latent = spec.latent
  if latent is None:
    kv_heads = _cut(spec.num_kv_heads * kv_copies(spec, tp), tp)
    sizes = [
        (d, (heads + 2 * kv_heads) * spec.head_dim),
        (heads * spec.head_dim, d),
    ]
  else:
    sizes = [
        (d, latent.q_rank),
        (latent.q_rank, heads * (latent.plain_dim + latent.rope_dim)),
        (d, latent.kv_rank + latent.rope_dim),
        (latent.kv_rank, heads * (latent.plain_dim + latent.value_dim)),
        (heads * latent.value_dim, d),
    ]
  return [("projections", *size, layers, {}) for size in sizes]


def _feed_forward(spec: ModelSpec, layout: Layout) -> list[_Made]:
  d, experts = spec.hidden_size, spec.experts
  mixed = spec.num_layers - experts.dense_layers if experts else 0
  made = _block("mlp", spec, spec.ffn_size, layout.tp, spec.num_layers - mixed)
  if experts is None:
    return made
  made.append(("router", d, experts.count, mixed, {}))
  if experts.shared:
    width = experts.shared * experts.ffn_size
    made += _block("shared experts", spec, width, layout.tp, mixed)
  many = {"experts": experts, "held": _cut(experts.count, layout.ep)}
  cut = layout.expert_chips
  return made + _block("experts", spec, experts.ffn_size, cut, mixed, **many)


def _block(
    group: str, spec: ModelSpec, width: int, cut: int, layers: int, **many
) -> list[_Made]:
  """Up (and gate) and down, `width` cut over some chips."""
  if not layers:
    return []
  d, width = spec.hidden_size, _cut(width, cut)
  ups = 2 if spec.mlp == "swiglu" else 1
  return [
      (group, d, ups * width, layers, many), (group, width, d, layers, many)
  ]


def _cut(size: int, parts: int) -> int:
  return -(-size // parts)
