"""How many pages fit: weights + activation peak + KV cache = memory.

Pure arithmetic on sizes, the same for real and simulated workers; it knows no
chip and allocates nothing. A model is split over `tp * pp` chips; figures are
those of the fullest chip.

Units: `_bytes` bytes, `_tokens` tokens, `_pages` pages.
"""

import dataclasses

from pdjax.config import ConfigError
from pdjax.models.spec import ModelSpec

DTYPE_BYTES = {"float32": 4, "bfloat16": 2}
_LOGIT_BYTES = 4


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Footprint:
  """What one worker keeps on its fullest chip."""

  weight_bytes: int
  activation_bytes: int
  """Peak within a step."""
  page_bytes: int
  """A chip's part of one page."""

  @property
  def fixed_bytes(self) -> int:
    return self.weight_bytes + self.activation_bytes


def footprint(
    spec: ModelSpec,
    *,
    dtype_bytes: int,
    tp: int = 1,
    pp: int = 1,
    page_tokens: int,
    step_tokens: int,
    max_num_seqs: int,
) -> Footprint:
  """Sizes of a model on a worker of `tp * pp` chips.

  `step_tokens` is the largest number of tokens in one step, `max_num_seqs` of
  rows whose logits one step makes.
  """
  return Footprint(
      weight_bytes=_weight_params(spec, tp, pp) * dtype_bytes,
      activation_bytes=_activation_values(spec, tp, step_tokens) * dtype_bytes
      + _ceil(max_num_seqs * spec.vocab_size * _LOGIT_BYTES, tp),
      page_bytes=page_tokens * kv_bytes_per_token(spec, dtype_bytes, tp, pp),
  )


def kv_bytes_per_token(
    spec: ModelSpec, dtype_bytes: int, tp: int = 1, pp: int = 1
) -> int:
  """Of one cached token, on the fullest chip."""
  layer_bytes = spec.kv_bytes_per_token(dtype_bytes) // spec.num_layers
  return _ceil(spec.num_layers, pp) * layer_bytes * kv_copies(spec, tp) // tp


def kv_copies(spec: ModelSpec, tp: int) -> int:
  """Chips of a tensor-parallel group that hold the same keys and values.

  A latent cache has one row for all heads, so every chip holds it; else kv
  heads are replicated once there are more chips than heads.
  """
  return tp if spec.latent is not None else max(1, tp // spec.num_kv_heads)


def check_split(spec: ModelSpec, tp: int, pp: int, where: str) -> None:
  """Refuses a model that cannot be split like that.

  Raises:
    ConfigError: a line for each reason.
  """
  heads = spec.num_kv_heads
  errors = []
  if spec.num_heads % tp:
    errors.append(
        f"{where}: tp {tp} does not divide the {spec.num_heads} query heads of"
        f" {spec.name}"
    )
  elif spec.latent is None and heads % tp and tp % heads:
    errors.append(
        f"{where}: tp {tp} neither divides the {heads} kv heads of {spec.name}"
        " nor is a multiple of them"
    )
  if pp > spec.num_layers:
    errors.append(
        f"{where}: pp {pp} is more than the {spec.num_layers} layers of"
        f" {spec.name}"
    )
  if errors:
    raise ConfigError(errors)


def pool_pages(
    need: Footprint, memory_bytes: int, utilization: float, where: str
) -> int:
  """Usable pages that memory leaves on each chip; the sentinel is counted off.

  `where` names the worker in the error.

  Raises:
    ConfigError: not even one usable page fits.
  """
  budget_bytes = int(memory_bytes * utilization)
  left_bytes = budget_bytes - need.fixed_bytes
  pages = left_bytes // need.page_bytes - 1
  if pages < 1:
    least_bytes = need.fixed_bytes + 2 * need.page_bytes
    raise ConfigError([
        f"{where}: each chip needs {_gb(least_bytes)} (weights"
        f" {_gb(need.weight_bytes)}, activations {_gb(need.activation_bytes)},"
        f" two pages of KV) and has {_gb(budget_bytes)}"
        f" ({utilization:g} of {_gb(memory_bytes)}); use more chips (tp, pp)"
    ])
  return pages


def _weight_params(spec: ModelSpec, tp: int, pp: int) -> int:
  """Layers of the longest stage, with an embedding table if it is an end.

  Norm scales, which every chip keeps whole, are counted as split: they are
  under a ten-thousandth.
  """
  layers = spec.num_params - spec.embedding_params
  copied_heads = (kv_copies(spec, tp) - 1) * spec.num_kv_heads
  if spec.latent is None:
    head_params = 2 * spec.hidden_size * spec.head_dim
    layers += spec.num_layers * copied_heads * head_params
  tables = spec.embedding_params
  if pp > 1 and not spec.tie_word_embeddings:
    tables -= spec.vocab_size * spec.hidden_size
  stage = _ceil(layers * _ceil(spec.num_layers, pp), spec.num_layers)
  return _ceil(stage + tables, tp)


def _activation_values(spec: ModelSpec, tp: int, step_tokens: int) -> int:
  """Residual, normed input and block output, and a block's inner values."""
  ffn_size = spec.ffn_size
  if spec.experts is not None:
    e = spec.experts
    ffn_size = max(ffn_size, (e.per_token + e.shared) * e.ffn_size)
  kv_heads = spec.num_kv_heads * kv_copies(spec, tp)
  attention = (2 * spec.num_heads + 2 * kv_heads) * spec.head_dim
  inner = max(attention, (3 if spec.mlp == "swiglu" else 2) * ffn_size)
  return step_tokens * (3 * spec.hidden_size + _ceil(inner, tp))


def _ceil(amount: int, parts: int) -> int:
  return -(-amount // parts)


def _gb(size_bytes: int) -> str:
  """Decimal gigabytes, smaller sizes in megabytes."""
  if size_bytes < 10**9:
    return f"{size_bytes / 1e6:.1f} MB"
  return f"{size_bytes / 1e9:.1f} GB"
