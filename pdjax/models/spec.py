"""What a decoder-only language model is made of: sizes, and what they imply.

Counts parameters and cache bytes; holds no weights and runs nothing, so the
simulator can reason about models that the transformer cannot run.

Units: `_params` scalar weights, `_bytes` bytes; letters as in docs/notation.md.
"""

import dataclasses
import math
from typing import Literal

from pdjax.models.rope import RopeScaling

_TOLD = {"name", "source", "max_position_embeddings"}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
  """A mixture of experts in place of the feed-forward block."""

  count: int
  per_token: int
  ffn_size: int
  """Width of one expert."""
  shared: int = 0
  """Experts every token passes through, beyond `per_token`."""
  dense_layers: int = 0
  """First layers that keep a dense block of the model's own `ffn_size`."""
  renormalise: bool = True
  """The chosen experts' shares sum to 1; else they are a softmax over all."""
  router_bias: bool = False
  """A bias on the scores that choose experts; no token is multiplied by it."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
  """Multi-head latent attention: the cache holds one low-rank row a token."""

  q_rank: int
  kv_rank: int
  rope_dim: int
  """Part of a head that is rotated; one key of this width is cached."""
  plain_dim: int
  value_dim: int


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ModelSpec:
  """Sizes of one model, with the place they were taken from."""

  name: str
  num_layers: int
  hidden_size: int
  num_heads: int
  num_kv_heads: int
  head_dim: int
  ffn_size: int
  vocab_size: int
  max_position_embeddings: int
  source: str
  rope_theta: float | None = 10_000.0
  """None: positions are learned embeddings."""
  rope_scaling: RopeScaling | None = None
  norm: Literal["rmsnorm", "layernorm"] = "rmsnorm"
  """A layernorm has a bias beside its scale."""
  norm_eps: float = 1e-5
  mlp: Literal["swiglu", "gelu", "relu"] = "swiglu"
  """swiglu has three matrices, the others two."""
  mlp_bias: bool = False
  attention_bias: Literal["none", "qkv", "qkvo"] = "none"
  qk_norm: bool = False
  """Queries and keys of each head are RMS-normed before they turn."""
  parallel_residual: bool = False
  sliding_window: int | None = None
  """Tokens a query sees in every layer, its own included; None: all."""
  tie_word_embeddings: bool = False
  experts: Experts | None = None
  latent: LatentAttention | None = None

  def __post_init__(self):
    if self.num_heads % self.num_kv_heads:
      raise ValueError(
          f"{self.name}: {self.num_heads=} is no multiple of"
          f" {self.num_kv_heads=}"
      )

  def differences(self, wanted: "ModelSpec") -> list[str]:
    """Where this model computes something else than `wanted`, a line each.

    Names, sources and the longest context change nothing that is computed.
    """
    lines = []
    for field in dataclasses.fields(self):
      ours, theirs = getattr(self, field.name), getattr(wanted, field.name)
      if field.name not in _TOLD and not _same(ours, theirs):
        lines.append(
            f"has {field.name} {ours!r}, preset {wanted.name} has {theirs!r}"
        )
    return lines

  @property
  def attention_params(self) -> int:
    """Of one layer's projections, with biases and query/key norms."""
    if self.latent is not None:
      return _latent_params(self, self.latent)
    q, kv = self.num_heads * self.head_dim, self.num_kv_heads * self.head_dim
    bias = {"none": 0, "qkv": q + 2 * kv, "qkvo": q + 2 * kv + self.hidden_size}
    norms = 2 * self.head_dim if self.qk_norm else 0
    matrices = self.hidden_size * (2 * q + 2 * kv)
    return matrices + bias[self.attention_bias] + norms

  @property
  def dense_mlp_params(self) -> int:
    """Of one dense feed-forward block."""
    bias = self.ffn_size + self.hidden_size if self.mlp_bias else 0
    return self._mlp_matrices * self.hidden_size * self.ffn_size + bias

  @property
  def embedding_params(self) -> int:
    """Token table, learned positions, and the output head unless tied."""
    tables = 1 if self.tie_word_embeddings else 2
    # OPT keeps two unused rows before position 0.
    rows = self.max_position_embeddings + 2 if self.rope_theta is None else 0
    return (tables * self.vocab_size + rows) * self.hidden_size

  @property
  def num_params(self) -> int:
    """All weights."""
    e = self.experts
    if e is None:
      return self._params(0)
    biases = e.count * (self.num_layers - e.dense_layers) * e.router_bias
    return self._params(e.count) + biases

  @property
  def expert_params(self) -> int:
    """Of all routed experts, which an expert-parallel layout deals out."""
    e = self.experts
    if e is None:
      return 0
    expert = self._mlp_matrices * self.hidden_size * e.ffn_size
    return (self.num_layers - e.dense_layers) * e.count * expert

  @property
  def active_params(self) -> int:
    """Weights that one token passes through."""
    return self._params(self.experts.per_token if self.experts else 0)

  def kv_bytes_per_token(self, dtype_bytes: int) -> int:
    """Of one cached token, keys and values of every layer."""
    if self.latent is not None:
      values = self.latent.kv_rank + self.latent.rope_dim
    else:
      values = 2 * self.num_kv_heads * self.head_dim
    return self.num_layers * values * dtype_bytes

  @property
  def kv_int8_bytes_per_token(self) -> int:
    """Of one rounded to int8 for a transfer: a float32 scale goes with each
    key and value of a head, or with each layer's latent."""
    scales = 1 if self.latent is not None else 2 * self.num_kv_heads
    return self.kv_bytes_per_token(1) + self.num_layers * scales * 4

  @property
  def unrunnable(self) -> str | None:
    """Why `pdjax.models.transformer` cannot run it; None if it can."""
    checks = {
        "latent attention": self.latent is not None,
        **_unrunnable_experts(self.experts),
        "learned positions": self.rope_theta is None,
        f"{self.norm}": self.norm != "rmsnorm",
        f"a {self.mlp} mlp": self.mlp != "swiglu",
        "mlp biases": self.mlp_bias,
        "a bias after attention": self.attention_bias == "qkvo",
        "parallel residuals": self.parallel_residual,
    }
    found = [what for what, present in checks.items() if present]
    if not found:
      return None
    return (
        f"model {self.name} has {', '.join(found)}, which the engine's"
        " transformer does not implement; it can be simulated"
    )

  @property
  def runnable(self) -> bool:
    """Whether the engine's transformer implements it."""
    return self.unrunnable is None

  def tp_error(self, tp: int) -> str | None:
    """Why its arrays cannot be split over `tp` devices; None if they can."""
    kv = self.num_kv_heads
    if kv % tp and tp % kv:
      return (
          f"tp={tp} does not fit the {kv} kv heads of {self.name}:"
          " it must divide them or be a multiple of them"
      )
    sizes = {
        "query heads": self.num_heads,
        "feed-forward width": (
            self.experts.ffn_size if self.experts else self.ffn_size
        ),
        "vocabulary": self.vocab_size,
    }
    for what, size in sizes.items():
      if size % tp:
        return f"tp={tp} does not divide the {what} {size} of {self.name}"
    return None

  @property
  def _mlp_matrices(self) -> int:
    return 3 if self.mlp == "swiglu" else 2

  def _params(self, routed_experts: int) -> int:
    norm = self.hidden_size * (2 if self.norm == "layernorm" else 1)
    layers = self.num_layers * (self.attention_params + 2 * norm)
    dense = self.num_layers
    if self.experts is not None:
      e = self.experts
      dense = e.dense_layers
      expert = self._mlp_matrices * self.hidden_size * e.ffn_size
      block = (routed_experts + e.shared) * expert + self.hidden_size * e.count
      layers += (self.num_layers - dense) * block
    layers += dense * self.dense_mlp_params
    return self.embedding_params + layers + norm


def _same(ours: object, theirs: object) -> bool:
  """Equal; floats as far as float32 holds them."""
  if isinstance(ours, float) and isinstance(theirs, float):
    return math.isclose(ours, theirs, rel_tol=1e-6)
  return ours == theirs


def _unrunnable_experts(experts: Experts | None) -> dict[str, bool]:
  if experts is None:
    return {}
  return {
      "shared experts": experts.shared > 0,
      "layers without experts": experts.dense_layers > 0,
      "a bias on its router": experts.router_bias,
  }


def _latent_params(spec: ModelSpec, latent: LatentAttention) -> int:
  """DeepSeek-V2 (arXiv 2405.04434), section 2.1; low-rank norms included."""
  d, n = spec.hidden_size, spec.num_heads
  q = d * latent.q_rank + latent.q_rank
  q += latent.q_rank * n * (latent.plain_dim + latent.rope_dim)
  kv = d * (latent.kv_rank + latent.rope_dim) + latent.kv_rank
  kv += latent.kv_rank * n * (latent.plain_dim + latent.value_dim)
  return q + kv + n * latent.value_dim * d
