"""The dispatch to GPU kernels, which run interpreted here."""

import functools

import jax
import numpy as np

from pdjax import ops

N, K, C, H, P, SCALE = 4, 2, 4, 16, 12, 0.3
RNG = np.random.default_rng(0)


def test_triton_kernels_run_on_each_device_s_heads(monkeypatch):
  """Interpreted, under shard_map over two devices; blocks as for a device."""
  asked = []

  def interpreted(attend):
    def call(*arrays, device, **features):
      asked.append(device)
      return attend(*arrays, interpret=True, **features)
    return call

  for module, name in (
      (ops.decode_triton, "paged_decode"), (ops.prefill_triton, "chunk_prefill")
  ):
    monkeypatch.setattr(module, name, interpreted(getattr(module, name)))
  kernels = ops.Kernels(kind="pallas_triton", explicit=True, device="H200")
  kv = RNG.standard_normal((P, 2, K, C, H), np.float32)
  q_BNH = RNG.standard_normal((2, N, H), np.float32)
  table, length_B = np.array([[1, 2, 3], [7, 5, 4]], np.int32), np.array([9, 5])

  def attend(kernels, q_BNH, kv):
    last_B, row_B = length_B.astype(np.int32) - 1, np.arange(2, dtype=np.int32)
    features = {"scale": SCALE, "kernels": kernels}
    return (
        ops.paged_decode(q_BNH, kv, table, last_B + 1, **features),
        ops.chunk_prefill(q_BNH, kv, table, row_B, last_B, **features),
    )

  mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("tp",))
  heads, cells = (jax.P(None, "tp"), jax.P(None, None, "tp"))
  split = jax.jit(jax.shard_map(
      functools.partial(attend, kernels), mesh=mesh, in_specs=(heads, cells),
      out_specs=heads, check_vma=False,
  ))
  for got, want in zip(
      split(q_BNH, kv), jax.jit(attend, static_argnums=0)(ops.XLA, q_BNH, kv),
      strict=True,
  ):
    np.testing.assert_allclose(got, want, atol=1e-5)
  assert set(asked) == {"H200"}
