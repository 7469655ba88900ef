"""Laws of the paged forward pass, on the tiny model."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pdjax import kv
from pdjax.models import presets, transformer
from tests.models.paged_session import PagedSession, load, stacked

TOKENS = np.random.default_rng(0).integers(0, 256, 45).tolist()
ATOL = 1e-4


@pytest.fixture(scope="module", autouse=True)
def _exact():
  with jax.default_matmul_precision("highest"):
    yield


@pytest.fixture(name="plain_TV", scope="module")
def _plain():
  return np.asarray(
      transformer.plain_forward(load(), jnp.array(TOKENS, jnp.int32))
  )


def test_plain_forward_by_hand():
  """Every formula again in numpy, float64, without stacking or grouping."""
  model, spec = load(), presets.preset("tiny")
  np.testing.assert_allclose(
      transformer.plain_forward(model, jnp.array(TOKENS[:9], jnp.int32)),
      _numpy_forward(model, spec, TOKENS[:9]), atol=ATOL,
  )


@pytest.mark.parametrize("chunk", [1, 7, 8, 16, 45])
def test_chunks_equal_the_whole(chunk, plain_TV):
  logits_V = PagedSession(load()).prefill(TOKENS, chunk)
  np.testing.assert_allclose(logits_V, plain_TV[-1], atol=ATOL)


def test_decode_equals_prefill(plain_TV):
  session = PagedSession(load())
  session.prefill(TOKENS[:30])
  for position in range(30, 45):
    logits_SV = session.step(decode=[(0, TOKENS[position])])
    np.testing.assert_allclose(logits_SV[0], plain_TV[position], atol=ATOL)


def test_long_chunk_spans_query_blocks():
  tokens = (TOKENS * 8)[:300]
  plain_TV = transformer.plain_forward(load(), jnp.array(tokens, jnp.int32))
  session = PagedSession(load(), pages_each=40)
  session.step(prefill=[(0, tokens[:20])])
  logits_SV = session.step(prefill=[(0, tokens[20:])], pad_tokens=9)
  np.testing.assert_allclose(logits_SV[0], plain_TV[-1], atol=ATOL)


def test_batch_mates_change_nothing(plain_TV):
  """Two chunks, two decodes, empty slots and padding in one pass."""
  session = PagedSession(load(), requests=4)
  for request, cut in enumerate((10, 20, 30, 0)):
    if cut:
      session.prefill(TOKENS[:cut], request=request)
  logits_SV = session.step(
      prefill=[(2, TOKENS[30:44]), (3, TOKENS[:5])],
      decode=[(0, TOKENS[10]), (1, TOKENS[20])],
      pad_tokens=3, pad_slots=2,
  )
  np.testing.assert_allclose(logits_SV, plain_TV[[10, 20, 43, 4]], atol=ATOL)


def test_place_of_pages_changes_nothing():
  order = np.random.default_rng(1).permutation(16)
  straight = PagedSession(load(), requests=2)
  shuffled = PagedSession(load(), requests=2, order=order)
  for session in (straight, shuffled):
    session.prefill(TOKENS[:20], chunk=7)
    session.prefill(TOKENS[20:], request=1)
  decode = [(0, 3), (1, 5)]
  np.testing.assert_array_equal(
      straight.step(decode=decode), shuffled.step(decode=decode)
  )


def test_nan_in_unowned_memory_changes_nothing():
  clean, poisoned = PagedSession(load(), requests=2), PagedSession(
      load(), requests=2
  )
  steps = (
      dict(prefill=[(0, TOKENS[:11])], pad_tokens=2, pad_slots=1),
      dict(prefill=[(1, TOKENS[:9])], decode=[(0, 1)]),
      dict(decode=[(0, 7), (1, 8)], pad_slots=2),
  )
  for step in steps:
    poisoned.poison()
    np.testing.assert_array_equal(clean.step(**step), poisoned.step(**step))


@pytest.mark.parametrize("tp", [2, 4])
def test_tensor_parallel_equals_single(tp):
  """tp=4 splits two kv heads' copies; the pool stays split along heads."""
  one, many = PagedSession(load()), PagedSession(load(tp=tp))
  for session in (one, many):
    session.prefill(TOKENS[:20], chunk=12)
  step = dict(decode=[(0, 3)])
  np.testing.assert_allclose(one.step(**step), many.step(**step), atol=ATOL)
  assert many.pool.sharding.is_equivalent_to(
      kv.pool_sharding(many.model.mesh), 6
  )
  assert many.pool.addressable_shards[0].data.shape[3] == max(1, 2 // tp)


def _compiled(session):
  """One decode as a worker would compile it."""
  apply, params = transformer.pure(session.model)
  batch = session._batch([(0, 1, 0)], [0], 0, [], [], [])
  step = jax.jit(apply, donate_argnums=2)
  return step.lower(params, batch, session.pool).compile()


def test_pass_updates_the_pool_in_place():
  """The donated pool is aliased, and no temporary is as large as it."""
  session = PagedSession(load(), pages_each=2000)
  memory = _compiled(session).memory_analysis()
  assert memory.alias_size_in_bytes >= session.config.pool_bytes
  assert memory.temp_size_in_bytes < session.config.pool_bytes / 4


def test_devices_exchange_activations_only():
  """All-reduces: embedding, attention and mlp of both layers. One gather, of
  the logits."""
  text = _compiled(PagedSession(load(tp=2))).as_text()
  found = re.findall(r" = (\S+) (all-\w+|collective-permute)\(", text)
  assert sorted(what for _, what in found) == ["all-gather"] + 5 * [
      "all-reduce"
  ]
  (logits,) = (shape for shape, what in found if what == "all-gather")
  assert logits.startswith("f32[1,256]")


def test_bfloat16_stays_near_float32(plain_TV):
  session = PagedSession(load(dtype="bfloat16"))
  session.prefill(TOKENS[:40], chunk=16)
  logits_SV = session.step(decode=[(0, TOKENS[40])])
  assert session.pool.dtype == jnp.bfloat16 and logits_SV.dtype == np.float32
  assert 0 < np.abs(logits_SV[0] - plain_TV[40]).max() < 0.1


def _numpy_forward(model, spec, tokens):
  block = {
      name.removeprefix("mlp."): np.asarray(stacked(model, name), np.float64)
      for names in (
          ("attention_norm_D", "q_DNH", "k_DKH", "v_DKH", "o_NHD",
           "ffn_norm_D"),
          ("mlp.gate_DF", "mlp.up_DF", "mlp.down_FD"),
      )
      for name in names
  }
  x = np.asarray(model.embed_VD[...], np.float64)[tokens]
  for i in range(spec.num_layers):
    w = {name: value[i] for name, value in block.items()}
    y = _numpy_norm(x, w["attention_norm_D"])
    heads = []
    for n in range(spec.num_heads):
      k = n // (spec.num_heads // spec.num_kv_heads)
      q = _numpy_rotate(y @ w["q_DNH"][:, n], spec.rope_theta)
      key = _numpy_rotate(y @ w["k_DKH"][:, k], spec.rope_theta)
      score = q @ key.T / np.sqrt(spec.head_dim)
      score[np.triu_indices(len(tokens), 1)] = -np.inf
      weight = np.exp(score) / np.exp(score).sum(-1, keepdims=True)
      heads.append(weight @ (y @ w["v_DKH"][:, k]) @ w["o_NHD"][n])
    x = x + sum(heads)
    y = _numpy_norm(x, w["ffn_norm_D"])
    gate = y @ w["gate_DF"]
    x = x + (gate / (1 + np.exp(-gate)) * (y @ w["up_DF"])) @ w["down_FD"]
  y = _numpy_norm(x, np.asarray(model.norm_D[...], np.float64))
  return y @ np.asarray(model.head_VD[...], np.float64).T


def _numpy_norm(x, scale):
  return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * scale


def _numpy_rotate(x, theta):
  """Pairs (h, h + H / 2) as complex numbers, turned."""
  half = x.shape[1] // 2
  turn = theta ** -(np.arange(half) / half)
  z = x[:, :half] + 1j * x[:, half:]
  z = z * np.exp(1j * np.arange(len(x))[:, None] * turn)
  return np.concatenate([z.real, z.imag], axis=1)
