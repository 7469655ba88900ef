"""Names and forms of weights in Hugging Face checkpoints.

A matrix is stored as (outputs, inputs), heads flattened. Names as in the
`transformers` package.
"""

import dataclasses
import math
from collections.abc import Iterator, Sequence

from pdjax.models import declared
from pdjax.models.spec import ModelSpec
from pdjax.models.weight import Weight


@dataclasses.dataclass(frozen=True, slots=True)
class Form:
  """A tensor's name, and which axes of the weight are its rows and columns.

  Axes are counted within one layer and one expert.
  """

  name: str
  rows: tuple[int, ...] = (0,)
  columns: tuple[int, ...] = ()

  def shape(self, weight_shape: Sequence[int]) -> tuple[int, ...]:
    """The tensor's."""
    return tuple(
        math.prod(weight_shape[axis] for axis in axes)
        for axes in (self.rows, self.columns)
        if axes
    )


def _heads(name: str) -> Form:
  return Form(name, rows=(1, 2), columns=(0,))


def _matrix(name: str) -> Form:
  return Form(name, rows=(1,), columns=(0,))


_FORMS = {
    "embed": Form("model.embed_tokens.weight", columns=(1,)),
    "norm": Form("model.norm.weight"),
    "head": Form("lm_head.weight", columns=(1,)),
    "attention_norm": Form("input_layernorm.weight"),
    "q": _heads("self_attn.q_proj.weight"),
    "k": _heads("self_attn.k_proj.weight"),
    "v": _heads("self_attn.v_proj.weight"),
    "o": Form("self_attn.o_proj.weight", rows=(2,), columns=(0, 1)),
    "q_bias": Form("self_attn.q_proj.bias", rows=(0, 1)),
    "k_bias": Form("self_attn.k_proj.bias", rows=(0, 1)),
    "v_bias": Form("self_attn.v_proj.bias", rows=(0, 1)),
    "q_norm": Form("self_attn.q_norm.weight"),
    "k_norm": Form("self_attn.k_norm.weight"),
    "ffn_norm": Form("post_attention_layernorm.weight"),
    "gate": _matrix("mlp.gate_proj.weight"),
    "up": _matrix("mlp.up_proj.weight"),
    "down": _matrix("mlp.down_proj.weight"),
    "router": _matrix("mlp.gate.weight"),
    "expert_gate": _matrix("mlp.experts.{expert}.gate_proj.weight"),
    "expert_up": _matrix("mlp.experts.{expert}.up_proj.weight"),
    "expert_down": _matrix("mlp.experts.{expert}.down_proj.weight"),
}

_MIXTRAL = {
    "router": _matrix("block_sparse_moe.gate.weight"),
    "expert_gate": _matrix("block_sparse_moe.experts.{expert}.w1.weight"),
    "expert_up": _matrix("block_sparse_moe.experts.{expert}.w3.weight"),
    "expert_down": _matrix("block_sparse_moe.experts.{expert}.w2.weight"),
}


def form(weight: Weight, architecture: str) -> Form:
  """Of a declared weight; names of layers begin with `model.layers.N.`."""
  own = _MIXTRAL if architecture == "MixtralForCausalLM" else {}
  found = own.get(weight.name, _FORMS[weight.name])
  if not weight.layered:
    return found
  return dataclasses.replace(
      found, name="model.layers.{layer}." + found.name
  )


def tensors(
    spec: ModelSpec, architecture: str
) -> Iterator[tuple[str, tuple[int, ...]]]:
  """Name and shape of every tensor that a checkpoint of the model has."""
  for weight in declared.weights(spec).values():
    found = form(weight, architecture)
    layers, experts, shape = _counts(weight)
    for layer in range(layers):
      for expert in range(experts):
        name = found.name.format(layer=layer, expert=expert)
        yield name, found.shape(shape)


def _counts(weight: Weight) -> tuple[int, int, tuple[int, ...]]:
  """Layers and experts of a weight, and the shape of one."""
  shape, axes = weight.model_shape, weight.axes
  counts = []
  for axis in ("layers", "experts"):
    there = axes[0] == axis
    counts.append(shape[0] if there else 1)
    if there:
      shape, axes = shape[1:], axes[1:]
  return *counts, shape
