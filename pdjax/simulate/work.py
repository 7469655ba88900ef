"""Arithmetic and memory traffic of a step, by operator group.

Counts what a worker computes and moves, from the model's sizes alone; how long
it takes is the cost model's business. A product of T rows by a matrix of W
weights is 2*T*W operations; it reads the weights once, its input, and writes
its output. Norms, residuals, rotations and gates are memory traffic alone, as
separate kernels would do them; sampling is traffic that a step takes time for
and no model needs, so it is in no sum of work.

Attention over S positions costs 4*N*H operations for each query and position
(scores and values), half of it in a prompt's triangle. With latent attention,
prompts are computed with keys and values expanded, which a later chunk does
again for the context before it, and decodes in the latent space (DeepSeek-V2,
arXiv 2405.04434). Within a sliding window only the last positions count.

Units: `_flops` operations, `_bytes` bytes; letters as in docs/notation.md.
"""

import dataclasses
import functools
from typing import NamedTuple

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.memory import kv_copies
from pdjax.models.spec import ModelSpec
from pdjax.simulate.products import Product, products_of, unembedding_of

ATTENTION_KERNELS = 2
"""Of a layer: the cache's write, and attention itself."""
_SMALL_KERNELS = 6
"""Of a layer: two norms, two residuals, rotation and gate."""
_ROUTING_KERNELS = 4
"""Of a layer with experts: their choice, tokens sorted by expert in two
kernels, and the sum of what comes back."""


class Work(NamedTuple):
  """Operations and bytes."""

  flops: int
  bytes: int

  def plus(self, other: "Work") -> "Work":
    return Work(self.flops + other.flops, self.bytes + other.bytes)

  def times(self, factor: int) -> "Work":
    return Work(self.flops * factor, self.bytes * factor)

  @property
  def intensity(self) -> float:
    """Operations per byte; above a chip's ridge, compute is the bound."""
    return self.flops / self.bytes


@dataclasses.dataclass(frozen=True)
class Operators:
  """Counts the operator groups of one model on one worker."""

  spec: ModelSpec
  dtypes: Dtypes = Dtypes()
  layout: Layout = Layout()
  products: tuple[Product, ...] = dataclasses.field(init=False)
  """Of the layers, on one chip of each stage."""
  unembedding: Product = dataclasses.field(init=False)

  def __post_init__(self):
    given = (self.spec, self.layout, self.dtypes)
    object.__setattr__(self, "products", products_of(*given))
    object.__setattr__(self, "unembedding", unembedding_of(*given))

  def products_work(self, tokens: int, rows: int) -> Work:
    """Of all chips: every layer over `tokens`, logits of `rows`."""
    loads = [(product, tokens) for product in self.products]
    total = Work(0, 0)
    for product, passed in (*loads, (self.unembedding, rows)):
      load = product.load(passed, self.layout)
      flops = product.flops(passed, self.layout)
      total = total.plus(Work(flops, product.bytes(*load)))
    return total.times(self.layout.stage_chips)

  @functools.cached_property
  def elementwise_bytes(self) -> int:
    """Of one token on one chip, in all layers: norms, residuals, rotations,
    gates; each value read and written once."""
    spec, tp = self.spec, self.layout.tp
    heads = spec.num_heads + spec.num_kv_heads * kv_copies(spec, tp)
    gates = 3 if spec.mlp == "swiglu" else 2
    width, copies = spec.ffn_size, 1
    if spec.experts is not None:
      width = spec.experts.ffn_size
      copies = spec.experts.per_token + spec.experts.shared
    values = 10 * spec.hidden_size
    values += (2 * heads * spec.head_dim + gates * copies * width) // tp
    return spec.num_layers * values * self.dtypes.activation_bytes

  @functools.cached_property
  def sampling_bytes(self) -> int:
    """Of one row: its gathered logits, made float32 and searched."""
    return self.spec.vocab_size * (self.dtypes.activation_bytes + 4 + 4)

  @functools.cached_property
  def kernels(self) -> int:
    """Kernels of all layers, one after another."""
    spec = self.spec
    layers = spec.num_layers * (ATTENTION_KERNELS + _SMALL_KERNELS)
    if spec.experts is not None:
      mixed = spec.num_layers - spec.experts.dense_layers
      layers += _ROUTING_KERNELS * mixed
    return layers + sum(product.count for product in self.products)

  def prefill_attention(self, tokens: int, context_tokens: int) -> Work:
    """A chunk over its own triangle and the context before it."""
    window = self.spec.sliding_window
    seen = context_tokens
    if window is not None:
      seen = min(context_tokens, max(0, window - 1))
    pairs = self._pairs(tokens, context_tokens)
    cached = tokens + (seen + tokens)  # written, then all read
    flops = pairs * self._pair_flops(expanded=True)
    flops += context_tokens * self._expansion_flops
    return Work(flops, cached * self.kv_bytes + tokens * self._query_bytes)

  def decode_attention(self, seqs: int, context_tokens: int) -> Work:
    """One token of each of `seqs` sequences over all attended positions."""
    fixed_bytes = seqs * (self.kv_bytes + self._query_bytes)
    attended = self.context_token()
    return Work(0, fixed_bytes).plus(attended.times(context_tokens))

  def context_token(self) -> Work:
    """What one more attended position adds to a decode."""
    return Work(self._pair_flops(expanded=False), self.kv_bytes)

  @functools.cached_property
  def kv_bytes(self) -> int:
    """Of one cached token, with what is held twice counted twice."""
    copies = kv_copies(self.spec, self.layout.tp)
    return self.spec.kv_bytes_per_token(self.dtypes.kv_bytes) * copies

  @functools.cached_property
  def _query_bytes(self) -> int:
    """Queries in and results out of one token's attention, all layers."""
    spec = self.spec
    values = 2 * spec.num_layers * spec.num_heads * spec.head_dim
    return values * self.dtypes.activation_bytes

  def _pairs(self, tokens: int, context_tokens: int) -> int:
    """Pairs of a chunk's token and a position it attends to."""
    pairs = tokens * context_tokens + tokens * (tokens + 1) // 2
    window = self.spec.sliding_window
    if window is None:
      return pairs
    # Token i attends to min(context + i, window), i from 1.
    short = max(0, min(tokens, window - context_tokens))
    within = short * context_tokens + short * (short + 1) // 2
    return within + (tokens - short) * window

  def _pair_flops(self, expanded: bool) -> int:
    """Of one query and one position, all layers and heads."""
    spec, latent = self.spec, self.spec.latent
    if latent is None:
      width = 2 * spec.head_dim
    elif expanded:
      width = latent.plain_dim + latent.rope_dim + latent.value_dim
    else:
      width = 2 * latent.kv_rank + latent.rope_dim
    return 2 * spec.num_layers * spec.num_heads * width

  @functools.cached_property
  def _expansion_flops(self) -> int:
    """Of one cached latent row made keys and values again."""
    spec, latent = self.spec, self.spec.latent
    if latent is None:
      return 0
    width = latent.plain_dim + latent.value_dim
    return 2 * spec.num_layers * latent.kv_rank * spec.num_heads * width
