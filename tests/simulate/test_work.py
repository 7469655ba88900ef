"""Operations and bytes: the textbook's figures, and totals of a model."""

import pytest

from pdjax.models.presets import PRESETS, preset
from pdjax.simulate.work import Operators, Work, product


def operators(name, tp=1):
  return Operators(preset(name), 2, tp)


@pytest.mark.parametrize(
    "rows, intensity", [(512, 410), (1024, 683), (1, 1), (32, 31.5)]
)
def test_intensity_of_a_square_projection(rows, intensity):
  """Hidden 4096, two-byte numbers: 2 M D^2 over 2 (2 M D + D^2)."""
  work = product(rows, 4096**2, 4096**2, 2 * 4096, 2)
  assert work.flops == 2 * rows * 4096**2
  assert work.intensity == pytest.approx(intensity, rel=2e-3)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_products_use_each_active_weight_once_a_token(name):
  """2 operations a weight and token; tables, norms, biases, routers aside."""
  spec = preset(name)
  ops = Operators(spec, 2)
  flops = ops.projections(100).flops + ops.mlp(100).flops
  weights = spec.active_params - spec.embedding_params
  assert flops == pytest.approx(2 * 100 * weights, rel=6e-3)


def test_unembedding_by_hand():
  # D 64, V 256; reads the matrix and 3 rows, writes 3 rows of logits.
  work = operators("tiny").unembedding(3)
  assert work == Work(2 * 3 * 64 * 256, 2 * (64 * 256 + 3 * (64 + 256)))


def test_prefill_attention_by_hand():
  # tiny: L 2, N 4, K 2, H 16. Chunk of 3 after 5: pairs 6 + 7 + 8 = 21.
  # KV row of all layers: 2 * 2 * 2 * 16 * 2 = 256 bytes; 3 written, 8 read.
  # Queries and results: 2 * 2 * 4 * 16 * 2 = 512 bytes a token.
  work = operators("tiny").prefill_attention(3, 5)
  assert work == Work(21 * 4 * 2 * 4 * 16, 11 * 256 + 3 * 512)


def test_decode_attention_by_hand():
  # 2 sequences over 30 positions together.
  work = operators("tiny").decode_attention(2, 30)
  assert work == Work(30 * 4 * 2 * 4 * 16, 2 * (256 + 512) + 30 * 256)


def test_chunks_add_up_to_the_prompt():
  ops = operators("llama-3-8b")
  whole = ops.prefill_attention(2048, 0)
  chunks = [ops.prefill_attention(512, c) for c in range(0, 2048, 512)]
  assert sum(chunk.flops for chunk in chunks) == whole.flops
  assert sum(chunk.bytes for chunk in chunks) > whole.bytes


def test_copied_kv_heads_are_work_too():
  on_8, on_16 = operators("llama-3-8b", 8), operators("llama-3-8b", 16)
  assert on_16.kv_bytes == 2 * on_8.kv_bytes
  assert on_16.projections(1).flops > on_8.projections(1).flops


def test_experts_are_read_when_touched():
  ops = operators("mixtral-8x7b")
  assert ops.touched_experts(1) == pytest.approx(2)
  assert ops.touched_experts(2) == pytest.approx(2 + 2 * 6 / 8)
  assert ops.touched_experts(1000) == pytest.approx(8)
  # Batch 1 reads 2 of 8 experts; a large one reads all.
  weights = 2 * 32 * 3 * 4096 * 14336  # of one expert, all layers
  assert ops.mlp(1).bytes == pytest.approx(2 * weights, rel=1e-3)
  assert ops.mlp(1).flops == 2 * 2 * weights // 2


def test_latent_decodes_read_one_row_and_compute_more():
  ops = operators("deepseek-v3")
  token = ops.context_token()
  assert token.bytes == 61 * 576 * 2
  # Scores over 576, values over 512, of 128 heads.
  assert token.flops == 2 * 61 * 128 * (576 + 512)
