"""Arithmetic and memory traffic of a step, by operator group.

Counts what a tensor-parallel group computes and moves, from the model's sizes
alone; how long it takes is the cost model's business. A product of T rows by a
matrix of W weights is 2*T*W operations; it reads the weights once, its input,
and writes its output. Softmax, norms, rotations and sampling are not counted.

Attention over S positions costs 4*N*H operations for each query and position
(scores and values), half of it in a prompt's triangle. With latent attention,
prompts are computed with keys and values expanded, decodes in the latent
space (DeepSeek-V2, arXiv 2405.04434). A sliding window is not counted:
contexts longer than the window are charged in full.

Units: `_flops` operations, `_bytes` bytes; letters as in docs/notation.md.
"""

import dataclasses
from typing import NamedTuple

from pdjax.memory import kv_copies
from pdjax.models.spec import ModelSpec


class Work(NamedTuple):
  """Operations and bytes of a whole tensor-parallel group."""

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


def product(
    rows: int, weights: int, read: int, values: int, dtype_bytes: int
) -> Work:
  """`rows` vectors through matrices of `weights` entries.

  `read` entries are fetched; `values` is what goes in and out for each row.
  """
  return Work(2 * rows * weights, (read + rows * values) * dtype_bytes)


@dataclasses.dataclass(frozen=True, slots=True)
class Operators:
  """Counts the operator groups of one model on `tp` chips."""

  spec: ModelSpec
  dtype_bytes: int
  tp: int = 1

  def projections(self, tokens: int) -> Work:
    """Query, key, value and output products of every layer."""
    spec = self.spec
    weights = spec.attention_params
    heads = 2 * (spec.num_heads + spec.num_kv_heads)
    if spec.latent is None:
      copies = (kv_copies(spec, self.tp) - 1) * spec.num_kv_heads
      weights += 2 * copies * spec.head_dim * spec.hidden_size
      heads += 2 * copies
    values = 2 * self.tp * spec.hidden_size + heads * spec.head_dim
    return self._product(tokens, weights, weights, values).times(
        spec.num_layers
    )

  def mlp(self, tokens: int) -> Work:
    """Feed-forward blocks of every layer, dense or of experts."""
    spec, experts = self.spec, self.spec.experts
    matrices = 3 if spec.mlp == "swiglu" else 2
    ends = 2 * self.tp * spec.hidden_size
    weights = matrices * spec.hidden_size * spec.ffn_size
    values = ends + matrices * spec.ffn_size
    dense = self._product(tokens, weights, weights, values)
    if experts is None:
      return dense.times(spec.num_layers)
    expert = matrices * spec.hidden_size * experts.ffn_size
    active = experts.per_token + experts.shared
    read = round(expert * (self.touched_experts(tokens) + experts.shared))
    values = ends + active * matrices * experts.ffn_size
    mixed = self._product(tokens, active * expert, read, values)
    return dense.times(experts.dense_layers).plus(
        mixed.times(spec.num_layers - experts.dense_layers)
    )

  def touched_experts(self, tokens: int) -> float:
    """Routed experts whose weights a layer reads, if tokens choose evenly.

    Each is missed by a token with chance 1 - per_token / count.
    """
    experts = self.spec.experts
    assert experts is not None
    missed = (1 - experts.per_token / experts.count) ** tokens
    return experts.count * (1 - missed)

  def unembedding(self, rows: int) -> Work:
    """Logits of `rows` tokens."""
    spec = self.spec
    weights = spec.hidden_size * spec.vocab_size
    values = self.tp * spec.hidden_size + spec.vocab_size
    return self._product(rows, weights, weights, values)

  def prefill_attention(self, tokens: int, context_tokens: int) -> Work:
    """A chunk over its own triangle and the context before it."""
    pairs = tokens * context_tokens + tokens * (tokens + 1) // 2
    cached = tokens + (context_tokens + tokens)  # written, then all read
    return Work(
        pairs * self._pair_flops(expanded=True),
        cached * self.kv_bytes + tokens * self._query_bytes,
    )

  def decode_attention(self, seqs: int, context_tokens: int) -> Work:
    """One token of each of `seqs` sequences over all attended positions."""
    fixed_bytes = seqs * (self.kv_bytes + self._query_bytes)
    attended = self.context_token()
    return Work(0, fixed_bytes).plus(attended.times(context_tokens))

  def context_token(self) -> Work:
    """What one more attended position adds to a decode."""
    return Work(self._pair_flops(expanded=False), self.kv_bytes)

  @property
  def kv_bytes(self) -> int:
    """Of one cached token, with what is held twice counted twice."""
    copies = kv_copies(self.spec, self.tp)
    return self.spec.kv_bytes_per_token(self.dtype_bytes) * copies

  @property
  def _query_bytes(self) -> int:
    """Queries in and results out of one token's attention, all layers."""
    spec = self.spec
    values = 2 * spec.num_layers * spec.num_heads * spec.head_dim
    return values * self.dtype_bytes

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

  def _product(self, rows: int, weights: int, read: int, values: int) -> Work:
    return product(rows, weights, read, values, self.dtype_bytes)
