"""Every weight of a model, declared once; all else is derived from here.

The transformer asks a source for these, files are checked against them, and
converters write them. A name says what a weight does; its axes say how it
lies: those it is multiplied along first, then those it makes.

Dimension key: docs/notation.md.
"""

from pdjax.models.spec import Experts, ModelSpec
from pdjax.models.weight import Weight


def weights(spec: ModelSpec, tp: int = 1) -> dict[str, Weight]:
  """All weights by name; those of layers are stacked."""
  stacked = {
      name: weight.stacked(spec.num_layers)
      for name, weight in layer(spec, tp).items()
  }
  return {**outer(spec), **stacked}


def outer(spec: ModelSpec) -> dict[str, Weight]:
  """Embedding, last norm, and the output head unless tied."""
  V, D = spec.vocab_size, spec.hidden_size
  found = [
      _weight("embed", ("vocab", "embed"), (V, D), D),
      _weight("norm", ("embed",), (D,), None),
  ]
  if not spec.tie_word_embeddings:
    found.append(_weight("head", ("vocab", "embed"), (V, D), D))
  return _by_name(found)


def layer(spec: ModelSpec, tp: int = 1) -> dict[str, Weight]:
  """One layer: attention, then the feed-forward block or its experts."""
  D = (spec.hidden_size,)
  found = [
      _weight("attention_norm", ("embed",), D, None),
      *_attention(spec, tp),
      _weight("ffn_norm", ("embed",), D, None),
  ]
  found += _experts(spec, spec.experts) if spec.experts else _mlp(spec)
  return _by_name(found)


def _attention(spec: ModelSpec, tp: int) -> list[Weight]:
  D, N, H = spec.hidden_size, spec.num_heads, spec.head_dim
  copies = max(1, tp // spec.num_kv_heads)
  K = spec.num_kv_heads * copies
  heads, kv_heads = ("heads", "head"), ("kv_heads", "head")
  found = [
      _weight("q", ("embed", *heads), (D, N, H), D),
      _weight("k", ("embed", *kv_heads), (D, K, H), D, copies),
      _weight("v", ("embed", *kv_heads), (D, K, H), D, copies),
      _weight("o", (*heads, "embed"), (N, H, D), N * H),
  ]
  if spec.attention_bias == "qkv":
    found += [
        _weight("q_bias", heads, (N, H), D),
        _weight("k_bias", kv_heads, (K, H), D, copies),
        _weight("v_bias", kv_heads, (K, H), D, copies),
    ]
  if spec.qk_norm:
    found += [
        _weight("q_norm", ("head",), (H,), None),
        _weight("k_norm", ("head",), (H,), None),
    ]
  return found


def _mlp(spec: ModelSpec) -> list[Weight]:
  D, F = spec.hidden_size, spec.ffn_size
  return [
      _weight("gate", ("embed", "ffn"), (D, F), D),
      _weight("up", ("embed", "ffn"), (D, F), D),
      _weight("down", ("ffn", "embed"), (F, D), F),
  ]


def _experts(spec: ModelSpec, experts: Experts) -> list[Weight]:
  D, E, F = spec.hidden_size, experts.count, experts.ffn_size
  into, out = ("experts", "embed", "ffn"), ("experts", "ffn", "embed")
  return [
      _weight("router", ("embed", "experts"), (D, E), D),
      _weight("expert_gate", into, (E, D, F), D),
      _weight("expert_up", into, (E, D, F), D),
      _weight("expert_down", out, (E, F, D), F),
  ]


def _weight(
    name: str,
    axes: tuple[str, ...],
    shape: tuple[int, ...],
    fan_in: int | None,
    copies: int = 1,
) -> Weight:
  return Weight(
      name=name, shape=shape, axes=axes, fan_in=fan_in, copies=copies
  )


def _by_name(found: list[Weight]) -> dict[str, Weight]:
  return {weight.name: weight for weight in found}
