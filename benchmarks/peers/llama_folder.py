"""A Hugging Face folder of a Llama with random weights, for every contender.

Matrices are normal with variance 1 / fan-in and scales are ones, so that
values stay in range and the best tokens are told apart; what is computed is
what real weights would have computed.
"""

import json
import pathlib

import numpy as np

from pdjax.models import hf_config, hf_names

SMOLLM2 = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=576,
    num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3,
    head_dim=64, intermediate_size=1536, vocab_size=49152,
    max_position_embeddings=8192, rms_norm_eps=1e-5, rope_theta=100000.0,
    tie_word_embeddings=True, hidden_act="silu", torch_dtype="float32",
    bos_token_id=1, eos_token_id=2,
)
"""SmolLM2-135M."""

TINY = SMOLLM2 | dict(
    hidden_size=128, num_hidden_layers=2, num_attention_heads=2,
    num_key_value_heads=1, head_dim=64, intermediate_size=128, vocab_size=512,
    max_position_embeddings=1024,
)


def write(folder: pathlib.Path, sizes: dict) -> None:
  """`config.json` and one file of weights, the same at every call."""
  folder.mkdir(parents=True)
  (folder / "config.json").write_text(json.dumps(sizes))
  architecture, spec = hf_config.read(folder)
  tensors = dict(hf_names.tensors(spec, architecture))
  header, end = {}, 0
  for name, shape in tensors.items():
    begin, end = end, end + 4 * int(np.prod(shape))
    header[name] = {
        "dtype": "F32", "shape": shape, "data_offsets": [begin, end]
    }
  text = json.dumps({**header, "__metadata__": {"format": "pt"}}).encode()
  text += b" " * (-len(text) % 8)
  rng = np.random.default_rng(0)
  with (folder / "model.safetensors").open("wb") as file:
    file.write(len(text).to_bytes(8, "little") + text)
    for shape in tensors.values():
      file.write(_drawn(rng, shape).tobytes())


def _drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
  if len(shape) == 1:
    return np.ones(shape, np.float32)
  return rng.standard_normal(shape, np.float32) * np.float32(shape[-1] ** -0.5)
