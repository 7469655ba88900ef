"""Sizes of the known models against published totals."""

import json
import math

import pytest

from pdjax import config
from pdjax.models import declared, presets

NAMES = sorted(presets.PRESETS)
NO_SHEET = {
    "bloom-176b", "codellama-34b", "internlm2-20b", "phi-2", "qwen-72b",
    "qwen3-14b", "qwen3-30b-a3b",
}
"""Their sizes are in no sheet of the data; totals are checked by hand."""
PUBLISHED = [
    name for name in NAMES if name not in ("tiny", "small") and (
        name not in NO_SHEET
    )
]
RUNNABLE = [name for name in NAMES if presets.preset(name).runnable]

_FIELDS = (
    "num_layers", "hidden_size", "num_heads", "num_kv_heads", "head_dim",
    "ffn_size", "vocab_size", "rope_theta", "norm_eps",
    "tie_word_embeddings", "max_position_embeddings",
)


@pytest.fixture(name="published")
def _published(data_dir):
  return json.loads((data_dir / "specs" / "model_specs.json").read_text())


@pytest.mark.data
@pytest.mark.parametrize("name", PUBLISHED)
def test_agrees_with_published_sizes(name, published):
  spec, known = presets.preset(name), published[name]
  for field in _FIELDS:
    assert getattr(spec, field) == known[field], field
  assert spec.num_params == known["params_computed"]
  if known["known_params"] is not None:
    assert spec.num_params == known["known_params"]
  assert spec.active_params == known["active_params_computed"]
  assert spec.kv_bytes_per_token(2) == known["kv_bytes_per_token_bf16"]


def test_totals_of_public_checkpoints():
  assert presets.preset("llama-3-8b").num_params == 8_030_261_248
  assert presets.preset("smollm2-135m").num_params == 134_515_008


def test_totals_of_models_without_a_sheet():
  billions = {
      "bloom-176b": 176.2, "codellama-34b": 33.7, "internlm2-20b": 19.9,
      "phi-2": 2.8, "qwen-72b": 72.3, "qwen3-14b": 14.8, "qwen3-30b-a3b": 30.5,
  }
  for name, total in billions.items():
    found = presets.preset(name).num_params / 1e9
    assert found == pytest.approx(total, rel=0.01), name
  active = presets.preset("qwen3-30b-a3b").active_params / 1e9
  assert active == pytest.approx(3.3, rel=0.02)


def test_tiny_by_hand():
  # A layer: q 64*64, k and v 64*32 each, o 64*64; mlp 3*64*96; two norms.
  layer = 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 96 + 2 * 64
  spec = presets.preset("tiny")
  assert spec.num_params == 2 * 256 * 64 + 2 * layer + 64
  assert spec.kv_bytes_per_token(4) == 2 * 2 * 2 * 16 * 4


def test_typo_is_one_line_with_a_suggestion():
  with pytest.raises(config.ConfigError) as error:
    presets.preset("llama3-8b")
  assert error.value.errors == [
      "model.preset: unknown model 'llama3-8b'; did you mean 'llama-3-8b'?"
  ]


def test_the_word_for_sizes_of_the_weights_is_among_the_known():
  with pytest.raises(config.ConfigError, match="mean 'from_weights'"):
    presets.preset("from_weight")


def test_unrunnable_models_say_why():
  for name in PUBLISHED:
    why = presets.preset(name).unrunnable
    unknown = name.startswith(("opt", "falcon", "deepseek"))
    assert bool(why) == unknown, (name, why)
  assert "shared experts" in str(presets.preset("deepseek-v3").unrunnable)


@pytest.mark.parametrize("name", RUNNABLE)
def test_declared_weights_add_up(name):
  """What the engine asks for is what the spec counts."""
  spec = presets.preset(name)
  shapes = [w.model_shape for w in declared.weights(spec, tp=8).values()]
  assert sum(map(math.prod, shapes)) == spec.num_params
