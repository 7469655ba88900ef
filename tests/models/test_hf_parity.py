"""Tiny models of every family against `transformers`, made and saved by it.

Needs the extra `parity`; skips with the reason where it is not installed.
"""

import dataclasses
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import checkpoint, sizes, transformer, weights
from tests.models.paged_session import PagedSession

TOKENS = np.random.default_rng(3).integers(0, 64, 45).tolist()
ATOL = 1e-4


@dataclasses.dataclass(frozen=True)
class Family:
  """A class of transformers', and what sets its config apart."""

  name: str
  sizes: dict


_LLAMA_31 = dict(
    rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0,
    high_freq_factor=4.0, original_max_position_embeddings=64,
)
_YARN = dict(
    rope_type="yarn", rope_theta=1e4, factor=4.0,
    original_max_position_embeddings=16,
)
_EXPERTS = dict(num_experts_per_tok=2, num_local_experts=4)

FAMILIES = {
    "llama-2": Family("Llama", dict(num_key_value_heads=4)),
    "llama-3.1": Family("Llama", dict(rope_parameters=_LLAMA_31)),
    "mistral": Family("Mistral", dict(sliding_window=8)),
    "qwen2.5": Family("Qwen2", dict(tie_word_embeddings=True)),
    "qwen2.5-yarn": Family("Qwen2", dict(rope_parameters=_YARN)),
    "qwen3": Family("Qwen3", dict(head_dim=16)),
    "yi": Family("Llama", dict(
        rope_parameters=dict(rope_type="default", rope_theta=5e6)
    )),
    "smollm2": Family("Llama", dict(
        hidden_size=48, num_attention_heads=6, tie_word_embeddings=True
    )),
    "tinyllama": Family("Llama", dict(num_key_value_heads=1)),
    "mixtral": Family("Mixtral", _EXPERTS),
    "qwen3-moe": Family("Qwen3Moe", dict(
        head_dim=16, norm_topk_prob=False, moe_intermediate_size=24, **_EXPERTS
    )),
}


@pytest.fixture(name="transformers", scope="module")
def _transformers():
  for name in ("torch", "transformers"):
    pytest.importorskip(name, reason="the extra 'parity' is not installed")
  import transformers

  transformers.logging.set_verbosity_error()
  transformers.logging.disable_progress_bar()
  return transformers


@pytest.fixture(scope="module", autouse=True)
def _exact():
  with jax.default_matmul_precision("highest"):
    yield


def _made(transformers, family, folder):
  """Saves a random model; its logits_TV."""
  import torch

  sizes = dict(
      hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
      num_key_value_heads=2, intermediate_size=48, vocab_size=64,
      max_position_embeddings=256,
  )
  settings = getattr(transformers, f"{family.name}Config")(
      **{**sizes, **family.sizes}
  )
  torch.manual_seed(0)
  model = getattr(transformers, f"{family.name}ForCausalLM")._from_config(
      settings, attn_implementation="eager"
  ).eval()
  with torch.no_grad():
    for name, value in model.named_parameters():
      # Its own start leaves biases at 0 and norms at 1, which would hide them.
      noise = torch.randn_like(value) * (0.3 if value.ndim == 1 else 0.2)
      value.copy_(noise + 1 if "norm" in name else noise)
    logits = model(torch.tensor([TOKENS])).logits[0]
  model.save_pretrained(folder)
  return logits.numpy()


@pytest.mark.parametrize("name", FAMILIES)
def test_logits(name, transformers, tmp_path):
  """Plain; through the paged cache in chunks; and a decode step."""
  want_TV = _made(transformers, FAMILIES[name], tmp_path)
  model = config.Model(
      preset="from_weights", weights=str(tmp_path), dtype="float32"
  )
  mesh = meshes.make_mesh(jax.devices(), 1)
  checkpoint.check(model)
  loaded = weights.load(model, sizes.spec_of(model), mesh)
  tokens = jnp.array(TOKENS, jnp.int32)
  plain_TV = transformer.plain_forward(loaded, tokens)
  np.testing.assert_allclose(plain_TV, want_TV, atol=ATOL, rtol=0)
  session = PagedSession(loaded)
  steps = [
      (start + 10, dict(prefill=[(0, TOKENS[start : start + 11])], pad_slots=1))
      for start in range(0, 44, 11)
  ]
  # Padded to the shape of the chunks: one program less to compile.
  steps.append((44, dict(decode=[(0, TOKENS[44])], pad_tokens=11)))
  for last, step in steps:
    np.testing.assert_allclose(
        session.step(**step)[0], want_TV[last], atol=ATOL, rtol=0
    )
  assert want_TV.std() > 0.1, "a model that says nothing proves nothing"


def test_older_form_of_the_config(transformers, tmp_path):
  """`rope_theta` and `rope_scaling` beside each other mean the same."""
  _made(transformers, FAMILIES["llama-3.1"], tmp_path)
  path = tmp_path / "config.json"
  said = json.loads(path.read_text())
  newer = checkpoint.hf_folder.HFFolder(tmp_path).spec
  rope = said.pop("rope_parameters")
  said |= {"rope_theta": rope.pop("rope_theta"), "rope_scaling": rope}
  path.write_text(json.dumps(said))
  older = checkpoint.hf_folder.HFFolder(tmp_path).spec
  assert older == newer and older.rope_theta == 5e5
