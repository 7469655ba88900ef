"""What JAX's matrix products alone allow: a contender with no model around it.

The products of every layer in their order, each on weights of its own, and the
output head; no attention, no norms, no sampling, no scheduler. A product is
written as `x_MK @ w_KN`, the head's as the model writes it. Offline is a sum of
the passes that an engine would make at best, full batches in every step, each
from a few that are timed.

M is rows of a product, K what is summed over, N what it makes.
"""

import functools
import os
import statistics
import time
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.peers import talk
from pdjax import config
from pdjax.models.layers import logits_of
from pdjax.models.sizes import spec_of

GROUPS = ("qkv", "o", "gate_up", "down", "head")


class MatrixFloor:
  """Weights of random values in a model's shapes, and timed products."""

  def __init__(self, asked: dict[str, Any]):
    spec = spec_of(config.Model(
        preset="from_weights", weights=asked["folder"], dtype="float32"
    ))
    D, F, H = spec.hidden_size, spec.ffn_size, spec.head_dim
    q, kv = spec.num_heads * H, spec.num_kv_heads * H
    shapes = {
        "q": (D, q), "k": (D, kv), "v": (D, kv), "o": (q, D),
        "gate": (D, F), "up": (D, F), "down": (F, D),
    }
    keys = jax.random.split(jax.random.key(0), spec.num_layers + 1)
    self._layers = [
        {name: _drawn(key, shape) for name, shape in shapes.items()}
        for key in keys[1:]
    ]
    self._head_VD = _drawn(keys[0], (spec.vocab_size, D))
    self._tokens_of_step = asked.get("step_tokens", 512)
    self._warm: set[tuple[str, int]] = set()

  def about(self) -> dict[str, Any]:
    return {
        "version": f"jax {jax.__version__}",
        "settings": f"products alone, {len(os.sched_getaffinity(0))} threads",
    }

  def prefill(self, tokens: int) -> dict[str, Any]:
    """All rows through the layers, one through the head."""
    layers_s = self._time("layers", tokens)
    return {"seconds": layers_s + self._time("head", 1)}

  def decode(self, batch: int, context: int, steps: int) -> dict[str, Any]:
    del context
    return {"seconds": [self._time("all", batch) for _ in range(steps)]}

  def offline(self, requests: int, prompt: int, output: int) -> dict[str, Any]:
    passes = -(-requests * prompt // self._tokens_of_step)
    pass_s = self._median("layers", self._tokens_of_step)
    step_s = self._median("all", requests)
    seconds = passes * pass_s + (output - 1) * step_s
    return {"seconds": seconds, "tokens": None}

  def operators(self, rows: int, head_rows: int) -> dict[str, Any]:
    """Milliseconds of each group of products by itself, median of five."""
    return {"ms": {
        group: self._median(group, head_rows if group == "head" else rows) * 1e3
        for group in GROUPS
    }}

  def _median(self, what: str, rows: int) -> float:
    return statistics.median(self._time(what, rows) for _ in range(5))

  def _time(self, what: str, rows: int) -> float:
    x_MK = jnp.ones((rows, self._head_VD.shape[1]), jnp.float32)
    function, weights = _products(what), (self._layers, self._head_VD)
    if (what, rows) not in self._warm:
      jax.block_until_ready(function(x_MK, *weights))
      self._warm.add((what, rows))
    began = time.perf_counter()
    jax.block_until_ready(function(x_MK, *weights))
    return time.perf_counter() - began


def _drawn(key: jax.Array, shape: tuple[int, int]) -> jax.Array:
  w_KN = jax.random.normal(key, shape, jnp.float32)
  return w_KN * shape[0] ** -0.5


@functools.cache
def _products(what: str):
  """A compiled function of (rows, layers, head)."""

  def run(x_MD, layers, head_VD):
    kept = []
    for layer in layers if what != "head" else ():
      x_MD, made = _layer(x_MD, layer, what)
      kept.append(made)
    if what in ("head", "all"):
      return logits_of(x_MD, head_VD), kept
    return x_MD, kept

  return jax.jit(run)


def _layer(x_MD: jax.Array, w: dict[str, jax.Array], what: str):
  """(what the next layer is fed, what must not be left out as unused)."""
  kept, D = [], w["gate"].shape[0]
  if what in ("qkv", "layers", "all"):
    kept = [x_MD @ w["k"], x_MD @ w["v"]]
    x_MD = x_MD @ w["q"]
  if what in ("o", "layers", "all"):
    x_MD = _wide(x_MD, w["o"].shape[0]) @ w["o"]
  if what in ("gate_up", "layers", "all"):
    x_MD = _wide(x_MD, D)
    x_MD = (x_MD @ w["gate"]) + (x_MD @ w["up"])
  if what in ("down", "layers", "all"):
    x_MD = _wide(x_MD, w["down"].shape[0]) @ w["down"]
  return _wide(x_MD, D), kept


def _wide(x_MK: jax.Array, K: int) -> jax.Array:
  """Rows of that width, where products that made them are left out."""
  if x_MK.shape[1] == K:
    return x_MK
  return jnp.tile(x_MK, (1, -(-K // x_MK.shape[1])))[:, :K]


if __name__ == "__main__":
  talk.answer(MatrixFloor)
