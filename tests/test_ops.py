"""Paged attention against ten lines of numpy."""

import functools
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import xla

from pdjax import ops

N, K, C, H, P, SCALE = 4, 2, 4, 8, 12, 0.3
RNG = np.random.default_rng(0)
KV_P2KCH = RNG.standard_normal((P, 2, K, C, H), np.float32)


@pytest.fixture(autouse=True, params=["cpu", "accelerator", "blocks of 8"])
def _form(request, monkeypatch):
  """Both forms of the loop over sequences; contexts of one and many blocks."""
  if request.param == "blocks of 8":
    monkeypatch.setattr(xla, "_DECODE_BLOCK_TOKENS", 8)
    monkeypatch.setattr(xla, "_PREFILL_BLOCK_TOKENS", 8)
    monkeypatch.setattr(xla, "_STRETCH_TOKENS", 8)
    monkeypatch.setattr(xla, "_STRETCHES", 2)
  if request.param == "accelerator":
    monkeypatch.setattr(xla, "_each", lambda f, *xs: jax.vmap(f)(*xs))


def _paged_decode(*arrays, **features):
  op = functools.partial(ops.paged_decode, scale=SCALE, **features)
  return jax.jit(op)(*arrays)


def _chunk_prefill(*arrays, window=None):
  op = functools.partial(ops.chunk_prefill, scale=SCALE, window=window)
  return jax.jit(op)(*arrays)


def _attend(q_NH, pages, length, window=None):
  """One query over the last cells of the first `length`, float64."""
  begin = 0 if window is None else max(0, length - window)
  kv = KV_P2KCH[np.asarray(pages)].astype(np.float64)
  out = np.zeros((N, H))
  for n in range(N):
    key, value = (
        kv[:, i, n * K // N].reshape(-1, H)[begin:length] for i in (0, 1)
    )
    weight = np.exp(SCALE * key @ q_NH[n])
    out[n] = weight @ value / weight.sum()
  return out


def _close(got, want):
  np.testing.assert_allclose(got, np.array(want), atol=1e-5)


@pytest.mark.parametrize("lengths", [(1, 4, 5), (12, 11, 8)])
def test_paged_decode(lengths):
  q_BNH = RNG.standard_normal((3, N, H), np.float32)
  page_BM = np.array([[1, 2, 3], [7, 5, 4], [9, 8, 2]], np.int32)
  out_BNH = _paged_decode(q_BNH, KV_P2KCH, page_BM, jnp.array(lengths))
  _close(out_BNH, [
      _attend(*row) for row in zip(q_BNH, page_BM, lengths, strict=True)
  ])


@pytest.mark.parametrize("window", [1, 5, 12])
def test_windows_in_decode_forget_even_nan(window):
  """Cells before the window may belong to anyone."""
  q_BNH = RNG.standard_normal((2, N, H), np.float32)
  page_BM = np.array([[1, 2, 3], [7, 5, 4]], np.int32)
  kv = KV_P2KCH.copy()
  if window <= 8:
    kv[1] = np.nan
  out_BNH = _paged_decode(
      q_BNH, kv, page_BM, jnp.array([12, 6]), window=window)
  _close(out_BNH, [
      _attend(q_BNH[0], page_BM[0], 12, window),
      _attend(q_BNH[1], page_BM[1], 6, window),
  ])


@pytest.mark.parametrize("window", [1, 3, 9])
def test_windows_in_a_chunk(window):
  """Each query of two requests has its own window; one sees less than it."""
  page_RM = np.array([[3, 1, 10], [6, 2, 0]], np.int32)
  row = np.array([0] * 7 + [1] * 5 + [-1] * 2, np.int32)
  position = np.array([*range(5, 12), *range(5), 0, 0], np.int32)
  q_UNH = RNG.standard_normal((14, N, H), np.float32)
  out_UNH = _chunk_prefill(
      q_UNH, KV_P2KCH, page_RM, row, position, window=window)
  want = [
      _attend(q_UNH[u], page_RM[row[u]], position[u] + 1, window)
      for u in range(12)
  ]
  _close(out_UNH, want + [np.zeros((N, H))] * 2)


def test_empty_decode_slot_gives_zeros_even_from_nan():
  q_BNH = np.ones((1, N, H), np.float32)
  kv = np.full_like(KV_P2KCH, np.nan)
  out_BNH = _paged_decode(
      q_BNH, kv, np.zeros((1, 2), np.int32), jnp.zeros(1, jnp.int32))
  assert not np.asarray(out_BNH).any()


@pytest.mark.parametrize("padding", [0, 3])
def test_chunk_prefill_of_two_requests(padding):
  """Positions 2..8 of one request, 0..4 of another, then padding."""
  page_RM = np.array([[3, 1, 10], [6, 2, 0], [0, 0, 0]], np.int32)
  row = np.array([0] * 7 + [1] * 5 + [-1] * padding, np.int32)
  position = np.array(
      [*range(2, 9), *range(5)] + [0] * padding, np.int32
  )
  q_UNH = RNG.standard_normal((12 + padding, N, H), np.float32)
  out_UNH = _chunk_prefill(
      q_UNH, KV_P2KCH, page_RM, row, position)
  want = [
      _attend(q_UNH[u], page_RM[row[u]], position[u] + 1) for u in range(12)
  ]
  _close(out_UNH, want + [np.zeros((N, H))] * padding)


def test_chunk_prefill_over_several_query_blocks():
  """300 queries of three requests: blocks of 128 hold one or two of them."""
  page_RM = RNG.integers(1, P, (3, 40)).astype(np.int32)
  row = np.repeat(np.arange(3, dtype=np.int32), (100, 150, 50))
  position = np.concatenate([np.arange(n) for n in (100, 150, 50)])
  q_UNH = RNG.standard_normal((300, N, H), np.float32)
  out_UNH = _chunk_prefill(
      q_UNH, KV_P2KCH, page_RM, row, position.astype(np.int32))
  for u in (0, 99, 100, 127, 128, 249, 250, 299):
    _close(out_UNH[u], _attend(q_UNH[u], page_RM[row[u]], position[u] + 1))


def test_chunk_prefill_ignores_nan_past_the_last_token():
  kv = KV_P2KCH.copy()
  kv[1, :, :, 2:] = np.nan
  kv[0] = np.nan
  q_UNH = RNG.standard_normal((2, N, H), np.float32)
  out_UNH = _chunk_prefill(
      q_UNH, kv, np.array([[3, 1, 0]], np.int32), np.zeros(2, np.int32),
      np.array([4, 5], np.int32))
  _close(out_UNH, [_attend(q_UNH[u], [3, 1, 0], 5 + u) for u in (0, 1)])


def test_kv_write_touches_one_cell_a_token():
  k_TKH = np.ones((2, K, H), np.float32)
  out = ops.kv_write(
      jnp.array(KV_P2KCH), k_TKH, 2 * k_TKH, jnp.array([4, 0]),
      jnp.array([3, 1]),
  )
  want = KV_P2KCH.copy()
  for page, cell in ((4, 3), (0, 1)):
    want[page, 0, :, cell], want[page, 1, :, cell] = 1, 2
  np.testing.assert_array_equal(out, want)


def test_bfloat16_stays_bfloat16():
  q_BNH = jnp.ones((1, N, H), jnp.bfloat16)
  kv = jnp.asarray(KV_P2KCH, jnp.bfloat16)
  table, one = jnp.ones((1, 2), jnp.int32), jnp.ones(1, jnp.int32)
  out = _paged_decode(q_BNH, kv, table, one)
  assert out.dtype == jnp.bfloat16
  # A single cell: the answer is its value.
  np.testing.assert_array_equal(out[0, 0], kv[1, 1, 0, 0])


def _mesh(platform, **more):
  """As much of a mesh as is looked at."""
  device = types.SimpleNamespace(
      platform=platform, device_kind="its kind", **more
  )
  return types.SimpleNamespace(devices=np.array([device], object))


@pytest.mark.parametrize("platform, asked, kind", [
    ("cpu", "auto", "xla"),
    ("tpu", "auto", "pallas_tpu"),
    ("tpu", "xla", "xla"),
    ("gpu", "xla", "xla"),
    ("cpu", "pallas_interpret", "pallas_interpret"),
])
def test_kernels_are_of_the_platform_unless_said(platform, asked, kind):
  assert ops.kernels_for(_mesh(platform), asked).kind == kind


@pytest.mark.parametrize("capability, kind", [
    ({"compute_capability": "9.0"}, "pallas_triton"),
    ({"compute_capability": "8.0"}, "xla"),
    ({}, "xla"),
])
def test_gpus_whose_compiler_has_seen_the_kernels_run_them(
    capability, kind, capsys
):
  ops._say_once.cache_clear()
  mesh = _mesh("gpu", **capability)
  for _ in range(2):
    assert ops.kernels_for(mesh).kind == kind
  said = capsys.readouterr().err
  assert said.count("XLA instead of pallas_triton") == (kind == "xla")
  assert ops.kernels_for(mesh, "pallas_triton").kind == "pallas_triton"


@pytest.mark.parametrize("platform, asked", [
    ("cpu", "pallas_triton"), ("cpu", "pallas_tpu"), ("gpu", "pallas_tpu"),
    ("tpu", "pallas_triton"),
])
def test_kernels_of_another_platform_are_refused(platform, asked):
  with pytest.raises(ValueError, match=f"{asked} are for a .pu.*{platform}"):
    ops.kernels_for(_mesh(platform), asked)


def test_unknown_kernels_are_refused():
  with pytest.raises(ValueError, match="one of xla, pallas_tpu"):
    ops.kernels_for(_mesh("cpu"), "palas")


NARROW = ops.Spec(
    num_heads=N, num_kv_heads=K, head_dim=H, page_tokens=8, dtype="float32",
    kv_dtype="float32",
)


def test_unfit_kernels_give_way_and_say_so_once(capsys):
  ops._say_once.cache_clear()
  for _ in range(2):
    assert ops.Kernels(kind="pallas_tpu").for_spec(NARROW) == ops.XLA
  said = capsys.readouterr().err
  assert said.count("\n") == 1
  assert "XLA instead of pallas_tpu kernels: cells of 8 lanes" in said


def test_unfit_kernels_that_were_asked_for_raise():
  kernels = ops.Kernels(kind="pallas_tpu", explicit=True)
  with pytest.raises(ValueError, match="kernels pallas_tpu: cells of 8 lanes"):
    kernels.for_spec(NARROW)


def test_a_sink_takes_its_share():
  """A single cell with score 0 against a sink of 0: half its value."""
  q_BNH, one = jnp.zeros((1, N, H)), jnp.ones(1, jnp.int32)
  table = jnp.ones((1, 2), jnp.int32)
  out_BNH = _paged_decode(q_BNH, KV_P2KCH, table, one, sink_N=jnp.zeros(N))
  _close(out_BNH[0, 0], KV_P2KCH[1, 1, 0, 0] / 2)
