"""How many pages fit: weights + activation peak + KV cache = memory.

Pure arithmetic on sizes, the same for real and simulated workers; it knows no
chip and allocates nothing. A worker's model is laid out over its chips; figures
are those of the fullest one.

Units: `_bytes` bytes, `_tokens` tokens, `_pages` pages.
"""

import dataclasses

from pdjax.config import ConfigError
from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.spec import ModelSpec

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
    dtypes: Dtypes,
    layout: Layout,
    page_tokens: int,
    step_tokens: int,
    max_num_seqs: int,
) -> Footprint:
  """Sizes of a model on a worker.

  `step_tokens` is the largest number of tokens in one step, `max_num_seqs` of
  rows whose logits one step makes.
  """
  rows, vocab = _ceil(max_num_seqs, layout.dp), spec.vocab_size
  values = _activation_values(spec, layout, step_tokens)
  return Footprint(
      weight_bytes=weight_bytes(spec, dtypes, layout),
      activation_bytes=values * dtypes.activation_bytes
      + _ceil(rows * vocab * _LOGIT_BYTES, layout.tp),
      page_bytes=page_tokens
      * kv_bytes_per_token(spec, dtypes.kv_bytes, layout),
  )


def kv_bytes_per_token(
    spec: ModelSpec, kv_value_bytes: int, layout: Layout
) -> int:
  """Of one of the worker's cached tokens, on the fullest chip."""
  layer_bytes = spec.kv_bytes_per_token(kv_value_bytes) // spec.num_layers
  layer_bytes = layer_bytes * kv_copies(spec, layout.tp) // layout.tp
  return _ceil(_ceil(spec.num_layers, layout.pp) * layer_bytes, layout.dp)


def kv_copies(spec: ModelSpec, tp: int) -> int:
  """Chips of a tensor-parallel group that hold the same keys and values.

  A latent cache has one row for all heads, so every chip holds it; else kv
  heads are replicated once there are more chips than heads.
  """
  return tp if spec.latent is not None else max(1, tp // spec.num_kv_heads)


def check_split(spec: ModelSpec, layout: Layout, where: str) -> None:
  """Refuses a model that cannot be split like that.

  Raises:
    ConfigError: a line for each reason.
  """
  heads, tp, pp = spec.num_kv_heads, layout.tp, layout.pp
  errors = _expert_errors(spec, layout, where)
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


def _expert_errors(spec: ModelSpec, layout: Layout, where: str) -> list[str]:
  ep, chips, experts = layout.ep, layout.stage_chips, spec.experts
  if ep == 1:
    return []
  if experts is None:
    return [f"{where}: ep {ep}: {spec.name} has no experts"]
  if chips % ep:
    return [f"{where}: ep {ep} does not divide the {chips} chips of a stage"]
  if experts.count % ep:
    return [
        f"{where}: ep {ep} does not divide the {experts.count} experts of"
        f" {spec.name}"
    ]
  return []


def pool_pages(
    need: Footprint, memory_bytes: int, utilization: float, where: str
) -> int:
  """Usable pages that memory leaves on each chip; the sentinel is counted off.

  `where` names the worker in the error.

  Raises:
    ConfigError: not even one usable page fits.
  """
  left_bytes = int(memory_bytes * utilization) - need.fixed_bytes
  pages = left_bytes // need.page_bytes - 1
  if pages < 1:
    raise ConfigError([
        f"{where}: {_too_much(need, memory_bytes, utilization)}; use more chips"
        " (tp, pp) or smaller formats"
    ])
  return pages


def check_pages(
    need: Footprint, memory_bytes: int, utilization: float, where: str,
    *, pages: int, page_tokens: int, said: str,
) -> None:
  """Refuses more usable pages than memory leaves.

  `said` is the field that asks for so many.

  Raises:
    ConfigError: they, or not even one, do not fit.
  """
  most = pool_pages(need, memory_bytes, utilization, where)
  if pages > most:
    short = _too_much(
        need, memory_bytes, utilization, pages, f"{pages * page_tokens} tokens"
    )
    raise ConfigError([
        f"{said}: {short}; at most {most * page_tokens} tokens fit"
        f" {where.removeprefix('cluster: ')} at cluster.hbm_utilization="
        f"{utilization:g}"
    ])


def _too_much(
    need: Footprint, memory_bytes: int, utilization: float,
    pages: int = 1, kv: str = "two pages",
) -> str:
  """What a chip needs for so many usable pages, and what it has."""
  least_bytes = need.fixed_bytes + (pages + 1) * need.page_bytes
  return (
      f"each chip needs {_gb(least_bytes)} (weights {_gb(need.weight_bytes)},"
      f" activations {_gb(need.activation_bytes)}, {kv} of KV) and has"
      f" {_gb(int(memory_bytes * utilization))} ({utilization:g} of"
      f" {_gb(memory_bytes)})"
  )


def weight_bytes(spec: ModelSpec, dtypes: Dtypes, layout: Layout) -> int:
  """Layers of the longest stage, with an embedding table if it is an end.

  Norm scales, routers and what else every chip keeps whole are counted as cut:
  they are under a thousandth. Tables stay in the activations' format.
  """
  experts = spec.expert_params
  layers = spec.num_params - spec.embedding_params - experts
  copied_heads = (kv_copies(spec, layout.tp) - 1) * spec.num_kv_heads
  if spec.latent is None:
    head_params = 2 * spec.hidden_size * spec.head_dim
    layers += spec.num_layers * copied_heads * head_params
  tables = spec.embedding_params
  if layout.pp > 1 and not spec.tie_word_embeddings:
    tables -= spec.vocab_size * spec.hidden_size
  each = layers * layout.dp + experts  # in units of a stage chip's share
  stage = _ceil(each * _ceil(spec.num_layers, layout.pp), spec.num_layers)
  return _ceil(stage * dtypes.weight_bits, 8 * layout.stage_chips) + _ceil(
      tables * dtypes.activation_bytes, layout.tp
  )


def _activation_values(
    spec: ModelSpec, layout: Layout, step_tokens: int
) -> int:
  """Residual, normed input and block output, and a block's inner values."""
  ffn_size = spec.ffn_size
  if spec.experts is not None:
    e = spec.experts
    ffn_size = max(ffn_size, (e.per_token + e.shared) * e.ffn_size)
  kv_heads = spec.num_kv_heads * kv_copies(spec, layout.tp)
  attention = (2 * spec.num_heads + 2 * kv_heads) * spec.head_dim
  inner = max(attention, (3 if spec.mlp == "swiglu" else 2) * ffn_size)
  tokens = _ceil(step_tokens, layout.dp * layout.microbatches)
  return tokens * (3 * spec.hidden_size + _ceil(inner, layout.tp))


def _ceil(amount: int, parts: int) -> int:
  return -(-amount // parts)


def _gb(size_bytes: int) -> str:
  """Decimal gigabytes, smaller sizes in megabytes."""
  if size_bytes < 10**9:
    return f"{size_bytes / 1e6:.1f} MB"
  return f"{size_bytes / 1e9:.1f} GB"
