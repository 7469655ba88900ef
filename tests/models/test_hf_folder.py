"""Weights of Hugging Face folders: each in its place, each mistake a line."""


import functools

import gguf
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import (
    checkpoint,
    hf_folder,
    safetensors_file,
    sizes,
    weights,
)
from tests.models.hf_files import (
    tensors,
    write_folder,
    write_safetensors,
)


def _load(folder, tp=1, dtype="float32"):
  model = config.Model(
      preset="from_weights", weights=str(folder), dtype=dtype
  )
  hf_folder.opened.cache_clear()
  mesh = meshes.make_mesh(jax.devices(), tp)
  return weights.load(model, sizes.spec_of(model), mesh)


def _refusal(folder):
  hf_folder.opened.cache_clear()
  with pytest.raises(config.ConfigError) as error:
    checkpoint.check(
        config.Model(preset="from_weights", weights=str(folder))
    )
  (line,) = error.value.errors
  return line


@pytest.mark.parametrize("piece_bytes", [64 << 20, 1 << 10])
@pytest.mark.parametrize("tp", [1, 2, 4])
def test_every_weight_in_its_place(tp, piece_bytes, tmp_path, monkeypatch):
  """Whole or a layer at a time; at tp=4 each kv head is there twice."""
  monkeypatch.setattr(weights, "PIECE_BYTES", piece_bytes)
  arrays = write_folder(tmp_path, shards=3)
  model = _load(tmp_path, tp)

  def same(found, want):
    np.testing.assert_array_equal(found[...], want)

  same(model.embed_VD, arrays["model.embed_tokens.weight"])
  same(model.head_VD, arrays["lm_head.weight"])
  copies = max(1, tp // 2)
  for number, block in enumerate(model.stack.blocks):
    own = functools.partial(_tensor, arrays, number)
    q_NHD = own("self_attn.q_proj.weight").reshape(4, 8, 16)
    same(block.q_DNH, q_NHD.transpose(2, 0, 1))
    k_KHD = own("self_attn.k_proj.weight").reshape(2, 8, 16)
    same(block.k_DKH, k_KHD.transpose(2, 0, 1).repeat(copies, 1))
    o_DNH = own("self_attn.o_proj.weight").reshape(16, 4, 8)
    same(block.o_NHD, o_DNH.transpose(1, 2, 0))
    same(block.k_norm_H, own("self_attn.k_norm.weight"))
    same(block.mlp.gate_DF, own("mlp.gate_proj.weight").T)
    same(block.mlp.down_FD, own("mlp.down_proj.weight").T)
    assert block.mlp.down_FD[...].sharding.shard_shape((24, 16)) == (
        24 // tp, 16
    )


def _tensor(arrays, layer, name):
  return arrays[f"model.layers.{layer}.{name}"]


@pytest.mark.parametrize("stored, kept", [
    ("BF16", ml_dtypes.bfloat16), ("F16", np.float16),
])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_types_are_converted(stored, kept, dtype, tmp_path):
  write_folder(tmp_path)
  arrays = {name: value.astype(kept) for name, value in tensors().items()}
  write_safetensors(tmp_path / "model.safetensors", arrays, stored)
  found = _load(tmp_path, dtype=dtype).norm_D[...]
  assert found.dtype == jnp.dtype(dtype)
  np.testing.assert_array_equal(
      found, arrays["model.norm.weight"].astype(found.dtype)
  )


def test_columns_are_read_a_few_rows_at_a_time(tmp_path, monkeypatch):
  monkeypatch.setattr(safetensors_file, "_READ_BYTES", 200)
  arrays = write_folder(tmp_path)
  found = _load(tmp_path, tp=2).stack.blocks[1].mlp.down_FD[...]
  np.testing.assert_array_equal(
      found, arrays["model.layers.1.mlp.down_proj.weight"].T
  )


def test_tied_head_written_out_and_old_tables_are_passed_over(tmp_path):
  write_folder(tmp_path, tie_word_embeddings=True)
  arrays = tensors()
  arrays["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(4, "f4")
  write_safetensors(tmp_path / "model.safetensors", arrays)
  assert not hasattr(_load(tmp_path), "head_VD")


Q = "model.layers.1.self_attn.q_proj.weight"


def _without(arrays, folder):
  del arrays[Q], arrays["model.norm.weight"]


def _with(arrays, folder):
  arrays["model.layers.2.more"] = np.ones(1, "f4")


def _reshaped(arrays, folder):
  arrays[Q] = arrays[Q].T


@pytest.mark.parametrize("bend, words", [
    (_without, "lacks 'model.norm.weight' and 1 more"),
    (_with, "has 'model.layers.2.more', which the model does not use"),
    (_reshaped, f"has '{Q}' of shape [16, 32], not [32, 16]"),
])
def test_tensors_that_do_not_fit(bend, words, tmp_path):
  write_folder(tmp_path)
  arrays = tensors()
  bend(arrays, tmp_path)
  write_safetensors(tmp_path / "model.safetensors", arrays)
  assert words in _refusal(tmp_path)


def test_each_kind_of_misfit_is_a_line(tmp_path):
  write_folder(tmp_path)
  arrays = tensors()
  for name in arrays:
    if name.endswith("q_proj.weight"):
      arrays[name] = arrays[name].T
  arrays["model.norm.weight"] = np.ones(17, "f4")
  write_safetensors(tmp_path / "model.safetensors", arrays)
  hf_folder.opened.cache_clear()
  with pytest.raises(config.ConfigError) as caught:
    checkpoint.opened(tmp_path).check(checkpoint.opened(tmp_path).spec)
  places = [line.partition(" has ")[2] for line in caught.value.errors]
  first = Q.replace("1", "0", 1)
  assert sorted(places) == [
      f"'{first}' of shape [16, 32], not [32, 16]; 1 more are like it",
      "'model.norm.weight' of shape [17], not [16]",
  ]


def test_unknown_type_of_numbers(tmp_path):
  write_folder(tmp_path)
  arrays = tensors()
  arrays = {"model.norm.weight": np.ones(16, np.uint8)}
  write_safetensors(tmp_path / "model.safetensors", arrays, "F8_E4M3")
  hf_folder.opened.cache_clear()
  with pytest.raises(config.ConfigError, match="F8_E4M3; known: BF16"):
    checkpoint.check(
        config.Model(preset="from_weights", weights=str(tmp_path))
    )


@pytest.mark.parametrize("cut, words", [
    (-1, "it has"), (40, "cannot hold its header"), (3, "cannot hold"),
])
def test_truncated_file(cut, words, tmp_path):
  write_folder(tmp_path)
  path = tmp_path / "model.safetensors"
  path.write_bytes(path.read_bytes()[:cut])
  line = _refusal(tmp_path)
  assert "is no whole safetensors file" in line and words in line


def test_damaged_header(tmp_path):
  write_folder(tmp_path)
  path = tmp_path / "model.safetensors"
  raw = path.read_bytes()
  path.write_bytes(raw.replace(b'"data_offsets"', b'"data_0ffsets"'))
  assert "its header is damaged" in _refusal(tmp_path)


def test_missing_shard(tmp_path):
  write_folder(tmp_path, shards=2)
  (tmp_path / "model-00002-of-00002.safetensors").unlink()
  assert "lacks 'model-00002-of-00002.safetensors'" in _refusal(tmp_path)


@pytest.mark.parametrize("text, words", [
    ("{", "is no JSON"), ("[]", "holds no object"),
    ("{}", "has no weight_map"),
    ('{"weight_map": {"a": "../x"}}', "has no weight_map"),
])
def test_damaged_index(text, words, tmp_path):
  write_folder(tmp_path, shards=2)
  (tmp_path / hf_folder.INDEX).write_text(text)
  assert words in _refusal(tmp_path)


@pytest.mark.parametrize("name, words", [
    ("pytorch_model.bin", "a pickle, which could run any code"),
    ("a.safetensors", "has 2 safetensors files but no"),
    ("README", "has no model.safetensors"),
])
def test_folder_without_safetensors(name, words, tmp_path):
  write_folder(tmp_path)
  (tmp_path / "model.safetensors").unlink()
  (tmp_path / name).write_text("")
  if name.endswith("safetensors"):
    (tmp_path / "b.safetensors").write_text("")
  assert words in _refusal(tmp_path)


@pytest.mark.parametrize("name", ["x.bin", "x.pt", "x.safetensors"])
def test_single_files_that_are_refused(name, tmp_path):
  (tmp_path / name).write_text("")
  words = "name the folder" if "safe" in name else "convert it to safetensors"
  assert words in _refusal(tmp_path / name)


@pytest.mark.parametrize("more, words", [
    ({"architectures": ["GPT2LMHeadModel"]}, "known: LlamaForCausalLM"),
    ({"architectures": None}, "architecture 'none'"),
    ({"hidden_act": "gelu"}, "hidden_act 'gelu', which is not implemented"),
    ({"rope_scaling": {"type": "dynamic", "factor": 2.0}},
     "rope scaling 'dynamic'; known: default, llama3, yarn"),
    ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0,
                       "low_freq_factor": 1.0, "high_freq_factor": 4.0}},
     "lacks original_max_position_embeddings in its llama3"),
    ({"rope_scaling": {"type": "yarn", "factor": 8.0, "mscale": 1.0,
                       "original_max_position_embeddings": 64}},
     "has mscale in its yarn rope scaling"),
    ({"attention_bias": True}, "attention_bias True"),
    ({"quantization_config": {"quant_method": "gptq", "bits": 4}},
     "quantization_config 'gptq'"),
    ({"layer_types": ["full_attention", "sliding_attention"]},
     "mixes layers of types full_attention, sliding_attention"),
    ({"hidden_size": None}, "lacks hidden_size"),
    ({"hidden_size": "many"}, "hidden_size 'many', which is no whole number"),
    ({"num_key_value_heads": 3}, "no multiple of num_key_value_heads 3"),
    ({"num_attention_heads": 0}, "num_attention_heads 0, which must be from 1"),
    ({"num_hidden_layers": -1}, "num_hidden_layers -1, which must be from 1"),
    ({"num_hidden_layers": True}, "True, which is no whole number"),
    ({"num_key_value_heads": 0}, "num_key_value_heads 0, which must be"),
    ({"rms_norm_eps": float("nan")}, "rms_norm_eps nan, which must be above 0"),
    ({"max_position_embeddings": 10**15}, "must be from 1 to 1000000000"),
    ({"vocab_size": 0}, "has vocab_size 0, which must be from 1"),
    ({"vocab_size": 32.5}, "has vocab_size 32.5, which is no whole number"),
    ({"head_dim": 7}, "has head_dim 7, which is odd"),
    ({"head_dim": None, "hidden_size": 4}, "so heads 1 wide"),
    ({"rope_theta": 0}, "has rope_theta 0, which must be above 1"),
    ({"rope_theta": "x"}, "has rope_theta 'x', which is no number"),
    ({"rope_scaling": "linear"}, "rope_scaling 'linear', which is no object"),
    ({"rope_scaling": {"type": ["yarn"]}}, "has rope scaling ['yarn']; known"),
    ({"rope_parameters": {"partial_rotary_factor": 0.5}}, "a part of each"),
    ({"rope_parameters": {"full_attention": {}}}, "own for full_attention"),
    ({"rope_scaling": {"type": "yarn", "factor": 0,
                       "original_max_position_embeddings": 64}},
     "has factor 0, which must be from 1"),
    ({"layer_types": 3}, "has layer_types 3, which is no list of names"),
    ({"tie_word_embeddings": "no"}, "'no', which is neither true nor false"),
    ({"architectures": 3}, "has architecture 3; known"),
    ({"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 4,
      "num_experts_per_tok": 5, "moe_intermediate_size": 8,
      "norm_topk_prob": True},
     "has num_experts_per_tok 5, more than num_experts 4"),
])
def test_configs_that_are_refused(more, words, tmp_path):
  write_folder(tmp_path, **more)
  assert words in _refusal(tmp_path)


def test_all_wrong_sizes_are_told_at_once(tmp_path):
  write_folder(
      tmp_path, num_attention_heads=0, num_hidden_layers=-1, vocab_size=0,
      rms_norm_eps=float("inf"), head_dim=3, rope_theta=-1,
  )
  hf_folder.opened.cache_clear()
  with pytest.raises(config.ConfigError) as error:
    checkpoint.opened(tmp_path)
  where = f"model.weights: {str(tmp_path / 'config.json')!r} has "
  lines = error.value.errors
  assert len(lines) == 6 and all(line.startswith(where) for line in lines)


def test_wrong_sizes_of_a_gguf_file(tmp_path):
  path = tmp_path / "x.gguf"
  writer = gguf.GGUFWriter(path, "llama")
  writer.add_block_count(0)
  writer.add_embedding_length(16)
  writer.add_head_count(0)
  writer.add_head_count_kv(2)
  writer.add_feed_forward_length(24)
  writer.add_context_length(128)
  writer.add_layer_norm_rms_eps(float("nan"))
  writer.add_token_list(["a", "b"])
  writer.write_header_to_file()
  writer.write_kv_data_to_file()
  writer.close()
  with pytest.raises(config.ConfigError) as error:
    checkpoint.check(config.Model(preset="from_weights", weights=str(path)))
  assert [line.split(" has ")[1] for line in error.value.errors] == [
      "llama.block_count 0, which must be from 1 to 10000",
      "llama.attention.head_count 0, which must be from 1 to 100000",
      "llama.attention.layer_norm_rms_epsilon nan, which must be above 0 and"
      " at most 1",
  ]


def test_missing_config(tmp_path):
  write_folder(tmp_path)
  (tmp_path / "config.json").unlink()
  assert "config.json' cannot be read" in _refusal(tmp_path)


def test_preset_of_another_model_is_told_field_by_field(tmp_path):
  write_folder(tmp_path)
  hf_folder.opened.cache_clear()
  with pytest.raises(config.ConfigError) as error:
    checkpoint.check(config.Model(preset="tiny", weights=str(tmp_path)))
  lines = error.value.errors
  assert any("has hidden_size 16, preset tiny has 64" in x for x in lines)
  assert any("has qk_norm True, preset tiny has False" in x for x in lines)


def test_sizes_of_named_weights_are_not_their_own():
  with pytest.raises(config.ConfigError, match="needs model.weights to be"):
    sizes.spec_of(config.Model(preset="from_weights"))


def test_identity_follows_content_not_place(tmp_path):
  write_folder(tmp_path / "a")
  write_folder(tmp_path / "b")
  one, two = (checkpoint.identity(tmp_path / name) for name in "ab")
  assert one["sha256"] == two["sha256"]
  assert (one["file"], two["file"]) == ("a", "b")
  write_folder(tmp_path / "c", rms_norm_eps=1e-5)
  assert checkpoint.identity(tmp_path / "c")["sha256"] != one["sha256"]
