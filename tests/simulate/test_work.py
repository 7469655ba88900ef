"""Operations and bytes: the textbook's figures, and totals of a model."""

import dataclasses

import pytest

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.presets import PRESETS, preset
from pdjax.simulate.work import Operators, Work


def operators(name, **degrees):
  return Operators(preset(name), layout=Layout(**degrees))


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_products_use_each_active_weight_once_a_token(name):
  """2 operations a weight and token; tables, norms, biases, routers aside."""
  spec = preset(name)
  flops = Operators(spec).products_work(100, 0).flops
  weights = spec.active_params - spec.embedding_params
  assert flops == pytest.approx(2 * 100 * weights, rel=6e-3)


def test_unembedding_by_hand():
  # D 64, V 256; reads the matrix and 3 rows, writes 3 rows of logits.
  ops = operators("tiny")
  both, layers = ops.products_work(5, 3), ops.products_work(5, 0)
  work = Work(both.flops - layers.flops, both.bytes - layers.bytes)
  assert work == Work(2 * 3 * 64 * 256, 2 * 3 * (64 + 256))


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
  on_8, on_16 = (operators("llama-3-8b", tp=tp) for tp in (8, 16))
  assert on_16.kv_bytes == 2 * on_8.kv_bytes
  assert on_16.products_work(1, 0).flops > on_8.products_work(1, 0).flops


def test_experts_are_read_when_touched():
  experts = [
      p for p in operators("mixtral-8x7b").products if p.group == "experts"
  ]
  loads = {n: experts[0].load(n, Layout()) for n in (1, 2, 1000)}
  assert loads[1] == (2, 1)
  assert loads[2] == (round(2 + 2 * 6 / 8), 1)
  assert loads[1000] == (8, 250)
  weights = 32 * 3 * 4096 * 14336  # of one expert, all layers
  assert sum(p.flops(1, Layout()) for p in experts) == 2 * 2 * weights
  moved = sum(p.bytes(*loads[1]) for p in experts)
  assert moved == pytest.approx(2 * 2 * weights, rel=1e-3)


def test_experts_are_dealt_or_cut():
  """Both share the weights out; dealt, each chip has whole experts."""
  for ep, held, width in ((1, 256, 2048 // 16), (16, 16, 2048)):
    layout = Layout(tp=1, dp=16, ep=ep)
    ops = Operators(preset("deepseek-v3"), layout=layout)
    up, down = (p for p in ops.products if p.group == "experts")
    assert (up.held, up.outer, down.inner) == (held, 2 * width, width)


def test_what_cannot_be_cut_every_chip_computes():
  one, many = operators("deepseek-v3"), operators("deepseek-v3", tp=8)
  for group in ("router", "projections"):
    of_one, of_eight = (
        sum(p.outer for p in ops.products if p.group == group)
        for ops in (one, many)
    )
    assert 8 * of_eight > of_one


def test_quantised_weights_move_fewer_bytes_and_no_fewer_operations():
  spec = preset("llama-3-8b")
  full, half, quarter = (
      Operators(spec, Dtypes(weight=dtype)).products_work(1, 1)
      for dtype in ("bfloat16", "fp8", "int4")
  )
  assert full.flops == half.flops == quarter.flops
  # Logits keep their matrix, of one row here.
  layers = full.bytes - 2 * 128256 * 4096
  assert full.bytes - half.bytes == pytest.approx(layers / 2, rel=1e-2)
  assert full.bytes - quarter.bytes == pytest.approx(0.75 * layers, rel=1e-2)


def test_a_window_bounds_what_a_prompt_attends_to():
  ops = operators("mistral-7b-v0.1")  # window 4096
  free = Operators(dataclasses.replace(ops.spec, sliding_window=None))
  for chunk in ((4096, 0), (100, 3000)):
    assert ops.prefill_attention(*chunk) == free.prefill_attention(*chunk)
  pair = ops.context_token().flops
  # Tokens 4095, 4096 | 4097, 4098 of a prompt see 4095, 4096, 4096, 4096.
  assert ops.prefill_attention(4, 4094).flops == (4095 + 3 * 4096) * pair
  assert ops.prefill_attention(4, 9000).bytes == (
      ops.prefill_attention(4, 4095).bytes
  )


def test_latent_decodes_read_one_row_and_compute_more():
  ops = operators("deepseek-v3")
  token = ops.context_token()
  assert token.bytes == 61 * 576 * 2
  # Scores over 576, values over 512, of 128 heads.
  assert token.flops == 2 * 61 * 128 * (576 + 512)
