"""Hugging Face folders written by hand: what tests load, bend and break.

Weights are random; names and shapes are written out again here instead of
taken from the package.
"""

import json

import numpy as np

SIZES = dict(
    architectures=["Qwen3ForCausalLM"], hidden_size=16, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, head_dim=8,
    intermediate_size=24, vocab_size=32, max_position_embeddings=128,
    rms_norm_eps=1e-6, hidden_act="silu", tie_word_embeddings=False,
    rope_theta=1e4,
)
"""A small Qwen3: heads wider than their share, norms of queries and keys."""

_LAYER = {
    "input_layernorm.weight": (16,),
    "self_attn.q_proj.weight": (32, 16),
    "self_attn.k_proj.weight": (16, 16),
    "self_attn.v_proj.weight": (16, 16),
    "self_attn.o_proj.weight": (16, 32),
    "self_attn.q_norm.weight": (8,),
    "self_attn.k_norm.weight": (8,),
    "post_attention_layernorm.weight": (16,),
    "mlp.gate_proj.weight": (24, 16),
    "mlp.up_proj.weight": (24, 16),
    "mlp.down_proj.weight": (16, 24),
}


def tensors():
  """All of the model's, by name, float32."""
  shapes = {
      "model.embed_tokens.weight": (32, 16), "model.norm.weight": (16,),
      "lm_head.weight": (32, 16),
  }
  for layer in range(2):
    for name, shape in _LAYER.items():
      shapes[f"model.layers.{layer}.{name}"] = shape
  rng = np.random.default_rng(0)
  return {n: rng.standard_normal(s, np.float32) for n, s in shapes.items()}


def write_safetensors(path, arrays, dtype="F32"):
  """The format by hand: length, header, bytes."""
  header, body = {"__metadata__": {"format": "pt"}}, b""
  for name, array in arrays.items():
    raw = array.tobytes()
    header[name] = {
        "dtype": dtype, "shape": array.shape,
        "data_offsets": [len(body), len(body) + len(raw)],
    }
    body += raw
  text = json.dumps(header).encode()
  path.write_bytes(len(text).to_bytes(8, "little") + text + body)


def write_folder(folder, shards=1, **more):
  """The model in a folder, over one or several files; its tensors."""
  folder.mkdir(exist_ok=True)
  (folder / "config.json").write_text(json.dumps({**SIZES, **more}))
  arrays = tensors()
  if shards == 1:
    write_safetensors(folder / "model.safetensors", arrays)
    return arrays
  names, where = list(arrays), {}
  for shard in range(shards):
    own = names[shard::shards]
    file = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
    write_safetensors(folder / file, {name: arrays[name] for name in own})
    where |= dict.fromkeys(own, file)
  index = {"metadata": {}, "weight_map": where}
  (folder / "model.safetensors.index.json").write_text(json.dumps(index))
  return arrays
