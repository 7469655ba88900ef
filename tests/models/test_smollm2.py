"""The real SmolLM2-135M against reference logits, tokens and encodings.

Needs the fetched weights and the data folder; skips with the reason.
"""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax import config
from pdjax.models import fetch, gguf_file, presets, tokenizer, transformer
from tests.models.paged_session import PagedSession, forget, load

pytestmark = pytest.mark.data

PROMPTS = ("raw_capital", "raw_story")


@pytest.fixture(name="path", scope="module")
def _path():
  try:
    return fetch.fetched_path("smollm2-135m")
  except config.ConfigError as error:
    pytest.skip(str(error))


@pytest.fixture(name="model", scope="module")
def _model(path):
  with jax.default_matmul_precision("highest"):
    yield load("smollm2-135m", kind="fetched")
  forget()


@pytest.fixture(name="reference", scope="module")
def _reference(data_dir):
  with np.load(data_dir / "smollm2" / "reference.npz") as arrays:
    return dict(arrays)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_logits(prompt, model, reference):
  ids = jnp.asarray(reference[f"{prompt}_ids"])
  logits_TV = np.asarray(transformer.plain_forward(model, ids))
  close = dict(atol=1e-3, rtol=0)
  np.testing.assert_allclose(
      logits_TV[-1], reference[f"{prompt}_last_logits"], **close
  )
  np.testing.assert_allclose(
      logits_TV[:, reference["sub_index"]],
      reference[f"{prompt}_logits_sub64"], **close,
  )
  np.testing.assert_array_equal(
      logits_TV.argmax(-1), reference[f"{prompt}_argmax"]
  )


@pytest.mark.parametrize("prompt", PROMPTS)
def test_greedy_tokens_through_the_paged_cache(prompt, model, reference):
  """Prefilled in chunks of three, then decoded."""
  session = PagedSession(model)
  tokens = session.greedy(reference[f"{prompt}_ids"].tolist(), 32, chunk=3)
  assert tokens == reference[f"{prompt}_greedy32"].tolist()


def test_tokenizer_samples(path, data_dir):
  encoder = tokenizer.load_tokenizer(path)
  samples = json.loads(
      (data_dir / "smollm2" / "tokenizer_samples.json").read_text()
  )
  for sample in samples:
    assert encoder.encode(sample["text"]) == sample["ids"], sample["text"]
    assert encoder.decode(sample["ids"]) == sample["text"]


def test_reference_text(path, data_dir):
  """Prompts encode to the reference's ids, its answers decode to its text."""
  encoder = tokenizer.load_tokenizer(path)
  reference = json.loads(
      (data_dir / "smollm2" / "reference.json").read_text()
  )
  for prompt in reference["prompts"]:
    assert encoder.encode(prompt["text"]) == prompt["ids"]
    assert encoder.decode(prompt["greedy32"]) == prompt["greedy32_text"]
  assert encoder.eos_ids == (2,)
  assert encoder.vocab_size == presets.preset("smollm2-135m").vocab_size


def test_conversation_as_the_template_says(path, data_dir):
  """The file's own template; the reference's chat prompt has another form."""
  text = tokenizer.load_tokenizer(path).chat(
      [{"role": "user", "content": "What is the capital of France?"}]
  )
  assert text.endswith(
      "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
      "<|im_start|>assistant\n"
  )
  assert text.startswith("<|im_start|>system\nYou are a helpful AI")


def test_file_of_another_model_is_refused_line_by_line(path):
  with pytest.raises(config.ConfigError) as error:
    gguf_file.opened(path).check(presets.preset("tinyllama-1.1b"))
  assert any("num_layers 30" in line for line in error.value.errors)
  assert len(error.value.errors) == 8
