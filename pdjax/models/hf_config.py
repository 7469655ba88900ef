"""A Hugging Face `config.json` as sizes: what a folder says of its model.

Only architectures whose every number the transformer honours are read; what
would change the arithmetic and is not known is refused, never passed over.
Keys as in the `transformers` package, in its older form (`rope_theta`,
`rope_scaling`) and its newer one (`rope_parameters`).
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from pdjax.fieldtypes import shown
from pdjax.models import size_ranges
from pdjax.models.jsonfile import read_object
from pdjax.models.rope import Llama3Rope, RopeScaling, YarnRope
from pdjax.models.spec import Experts, ModelSpec
from pdjax.models.unfit import unfit


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Family:
  """What an architecture's name says beyond the numbers beside it."""

  attention_bias: Literal["none", "qkv"] = "none"
  qk_norm: bool = False
  window: bool = False
  """`sliding_window` holds in every layer, where it is said."""
  experts: Mapping[str, tuple[str, ...]] | None = None
  """Keys of the fields of `Experts`, the first that is there."""


FAMILIES = {
    "LlamaForCausalLM": Family(),
    "MistralForCausalLM": Family(window=True),
    "MixtralForCausalLM": Family(window=True, experts={
        "count": ("num_local_experts",),
        "per_token": ("num_experts_per_tok",),
        "ffn_size": ("intermediate_size",),
    }),
    "Qwen2ForCausalLM": Family(attention_bias="qkv"),
    "Qwen3ForCausalLM": Family(qk_norm=True),
    "Qwen3MoeForCausalLM": Family(qk_norm=True, experts={
        "count": ("num_experts", "num_local_experts"),
        "per_token": ("num_experts_per_tok",),
        "ffn_size": ("moe_intermediate_size",),
        "renormalise": ("norm_topk_prob",),
    }),
}

_SIZES = {
    "num_layers": "num_hidden_layers",
    "hidden_size": "hidden_size",
    "num_heads": "num_attention_heads",
    "ffn_size": "intermediate_size",
    "vocab_size": "vocab_size",
    "max_position_embeddings": "max_position_embeddings",
    "norm_eps": "rms_norm_eps",
}
_MAY_LACK = {"num_kv_heads": "num_key_value_heads", "head_dim": "head_dim"}
_TRUTHS = ("tie_word_embeddings", "norm_topk_prob")

_ONLY: Mapping[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",),
    "attention_bias": (False, None),
    "mlp_bias": (False, None),
    "use_sliding_window": (False, None),
    "decoder_sparse_step": (1, None),
    "mlp_only_layers": ([], None),
    "partial_rotary_factor": (1.0, None),
    "quantization_config": (None,),
}
"""Keys that change the arithmetic, with the values that do not."""

_ROPE_FORMS: Mapping[str, tuple[type[RopeScaling], dict[str, str]]] = {
    "llama3": (Llama3Rope, {
        "factor": "factor", "low_freq_factor": "low_freq_factor",
        "high_freq_factor": "high_freq_factor",
        "original_max_position_embeddings": "original_context",
    }),
    "yarn": (YarnRope, {
        "factor": "factor", "beta_fast": "fast_turns",
        "beta_slow": "slow_turns", "attention_factor": "sharpness",
        "original_max_position_embeddings": "original_context",
    }),
}
"""Keys of each known way of stretching, and our fields."""

_ROPES = ("rope_scaling", "rope_parameters")


def read(folder: pathlib.Path) -> tuple[str, ModelSpec]:
  """Architecture and sizes of the model in a folder, named after it.

  Raises:
    ConfigError: no config, one of an unknown architecture, or one that asks
      for what the transformer does not do; a line for each reason.
  """
  path = folder / "config.json"
  said = read_object(path)
  architecture = _architecture(path, said)
  family = FAMILIES[architecture]
  if whys := dict.fromkeys(_problems(said, family)):
    raise unfit(path, *whys)
  return architecture, _spec(folder, said, family)


def _spec(
    folder: pathlib.Path, said: Mapping[str, Any], family: Family
) -> ModelSpec:
  rope, heads = _rope(said), said["num_attention_heads"]
  return ModelSpec(
      name=folder.resolve().name,
      source="its config.json",
      **{ours: said[theirs] for ours, theirs in _SIZES.items()},
      num_kv_heads=said.get("num_key_value_heads") or heads,
      head_dim=said.get("head_dim") or said["hidden_size"] // heads,
      rope_theta=float(rope.get("rope_theta") or 10_000.0),
      rope_scaling=_scaling(rope),
      attention_bias=family.attention_bias,
      qk_norm=family.qk_norm,
      sliding_window=said.get("sliding_window") if family.window else None,
      tie_word_embeddings=bool(said.get("tie_word_embeddings", False)),
      experts=_experts(said, family),
  )


def _architecture(path: pathlib.Path, said: Mapping[str, Any]) -> str:
  listed = said.get("architectures") or ["none"]
  named = listed[0] if isinstance(listed, list) else listed
  if not isinstance(named, str) or named not in FAMILIES:
    raise unfit(
        path,
        f"has architecture {named!r}; known: {', '.join(sorted(FAMILIES))}",
    )
  return named


def _problems(said: Mapping[str, Any], family: Family) -> Iterator[str]:
  sizes = ((key,) for key in _SIZES.values())
  for keys in dict.fromkeys([*sizes, *(family.experts or {}).values()]):
    if all(said.get(key) is None for key in keys):
      yield f"lacks {keys[0]}"
  yield from size_ranges.mistakes(_sizes(said, family))
  for key in _TRUTHS:
    if not isinstance(said.get(key), bool | None):
      yield f"has {key} {shown(said[key])}, which is neither true nor false"
  for key, allowed in _ONLY.items():
    if key in said and said[key] not in allowed:
      yield f"has {key} {_short(said[key])}, which is not implemented"
  layers = said.get("layer_types") or []
  if not isinstance(layers, list) or not all(
      isinstance(layer, str) for layer in layers
  ):
    yield f"has layer_types {shown(layers)}, which is no list of names"
  elif len(set(layers)) > 1:
    yield f"mixes layers of types {', '.join(sorted(set(layers)))}"
  for key in _ROPES:
    if not isinstance(said.get(key), dict | None):
      yield f"has {key} {shown(said[key])}, which is no object"
  yield from _rope_problems(_rope(said))


def _sizes(said: Mapping[str, Any], family: Family) -> size_ranges.Said:
  """Every size that is read, by our field, with its key."""
  keys = {**_SIZES, **_MAY_LACK}
  if family.window:
    keys["sliding_window"] = "sliding_window"
  found = {ours: (key, said.get(key)) for ours, key in keys.items()}
  for ours, names in (family.experts or {}).items():
    key = next((key for key in names if said.get(key) is not None), names[0])
    if ours != "renormalise":
      found[f"experts.{ours}"] = (key, said.get(key))
  rope = _rope(said)
  found["rope_theta"] = ("rope_theta", rope.get("rope_theta"))
  for key, ours in _rope_fields(rope).items():
    found[f"rope.{ours}"] = (key, rope.get(key))
  return found


def _short(value: Any) -> str:
  """In a line: quantisation configs are long."""
  if isinstance(value, dict):
    return shown(value.get("quant_method", "of its own"))
  return shown(value)


def _rope(said: Mapping[str, Any]) -> dict[str, Any]:
  """Everything about rotations in one place, whichever form it has."""
  found: dict[str, Any] = {}
  for key in _ROPES:
    part = said.get(key)
    found |= part if isinstance(part, dict) else {}
  if "rope_theta" in said:
    found.setdefault("rope_theta", said["rope_theta"])
  found["rope_type"] = found.get("rope_type", found.pop("type", "default"))
  return found


def _rope_fields(rope: Mapping[str, Any]) -> Mapping[str, str]:
  """Our fields by key, of a known way of stretching."""
  kind = rope["rope_type"]
  known = isinstance(kind, str) and kind in _ROPE_FORMS
  return _ROPE_FORMS[kind][1] if known else {}


def _rope_problems(rope: Mapping[str, Any]) -> Iterator[str]:
  kind = rope["rope_type"]
  if rope.get("partial_rotary_factor") not in (None, 1.0):
    yield "turns a part of each head only, which is not implemented"
  for key in sorted(key for key in rope if isinstance(rope[key], dict)):
    yield f"has rotations of its own for {key}, which is not implemented"
  if kind == "default":
    return
  if not _rope_fields(rope):
    allowed = ", ".join(["default", *_ROPE_FORMS])
    yield f"has rope scaling {shown(kind)}; known: {allowed}"
    return
  form, fields = _ROPE_FORMS[kind]
  free = {"rope_type", "type", "rope_theta", "partial_rotary_factor", *fields}
  for key in sorted(set(rope) - free):
    yield f"has {key} in its {kind} rope scaling, which is not implemented"
  for field in dataclasses.fields(form):
    key = next(k for k, ours in fields.items() if ours == field.name)
    if field.default is dataclasses.MISSING and rope.get(key) is None:
      yield f"lacks {key} in its {kind} rope scaling"


def _scaling(rope: Mapping[str, Any]) -> RopeScaling | None:
  if rope["rope_type"] == "default":
    return None
  form, fields = _ROPE_FORMS[rope["rope_type"]]
  return form(**{
      ours: rope[key] for key, ours in fields.items()
      if rope.get(key) is not None
  })


def _experts(said: Mapping[str, Any], family: Family) -> Experts | None:
  if family.experts is None:
    return None
  return Experts(**{
      ours: next(said[key] for key in keys if said.get(key) is not None)
      for ours, keys in family.experts.items()
  })
