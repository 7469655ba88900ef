"""One model on one mesh: weights, page pool, compiled programs. No thread.

Only one thread may use a replica: every step donates the pool, and whoever
still holds the old one holds a deleted array.

Dimension key: docs/notation.md.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from pdjax import kv
from pdjax import mesh as meshes
from pdjax.buckets import STAGED, Buckets, Shape
from pdjax.config import Sampling
from pdjax.engine import packing
from pdjax.engine.passes import Feed, Prompts, Rows
from pdjax.engine.programs import Programs


class Replica:
  """Runs compiled passes on its pool.

  Args:
    programs: of the worker; their `params` are its weights.
    buckets: the shapes that will be asked for.
  """

  def __init__(self, programs: Programs, buckets: Buckets):
    self._programs, self.buckets = programs, buckets
    self._params, staged = programs.params, programs.staged
    self._stage_weights = staged.weights(self._params) if staged else []
    self._compiled: dict[Shape, Callable] = {}
    self._new_pool = kv.pool_maker(programs.config, programs.mesh)
    self._pool = self._new_pool()

  @property
  def config(self) -> kv.KVPoolConfig:
    return self._programs.config

  @property
  def mesh(self) -> Mesh:
    return self._programs.mesh

  @property
  def R(self) -> int:
    """Prompt chunks in a pass."""
    return self._programs.R

  @property
  def sampling(self) -> Sampling:
    """What the programs can do; no request may need more."""
    return self._programs.sampling

  # Work on the pool. ---------------------------------------------------------

  def decode(self, feed: Feed, rows: Rows) -> tuple[Feed, jax.Array]:
    """One token of every row: (next feed, result_3B), both on the device."""
    B, M = rows.page_BM.shape
    run = self._program(Shape("decode", M, B))
    self._pool, feed, result_3B = run(self._params, self._pool, feed, rows)
    return feed, result_3B

  def mixed(self, feed: Feed, rows: Rows, prompts: Prompts) -> jax.Array:
    """Chunks, and a token of every row if there are rows: result_3S."""
    (B, M), U = rows.page_BM.shape, len(prompts.token_U)
    run = self._program(Shape("mixed" if B else "prefill", M, B, U))
    self._pool, _, result_3S = run(
        self._params, self._pool, feed, rows, prompts
    )
    return result_3S

  @property
  def stages(self) -> range:
    """First layer of each stage of a prompt; empty if it has none."""
    staged = self._programs.staged
    return staged.staged.first_layers if staged else range(0)

  def prefill_staged(
      self, prompts: Prompts, between: Callable[[int], None]
  ) -> jax.Array:
    """Chunks, in stages: result_3R. `between` is told of each one's first
    layer when it is issued."""
    U, M = len(prompts.token_U), prompts.page_RM.shape[1]
    begin, stage, end = (
        self._program(Shape(kind, M, U=U)) for kind in STAGED
    )
    x_UD = begin(self._params, prompts)
    for weights, first_layer in zip(
        self._stage_weights, self.stages, strict=True
    ):
      self._pool, x_UD = stage(
          weights, self._pool, x_UD, prompts, np.int32(first_layer)
      )
      between(first_layer)
    return end(self._params, x_UD, prompts)

  def gather(
      self, page_M: np.ndarray, first_layer: int | None = None
  ) -> tuple[Any, jax.Array | None]:
    """Pages copied out: (staging, checksums or None).

    staging_LM2KCH, or a `Rounded` where pages travel as int8; all layers, or
    those of the stage that begins with one.
    """
    kind = "gather" if first_layer is None else "gather_layers"
    shape = Shape(kind, len(page_M))
    layer_L = self._programs.first_layers(shape, first_layer or 0)
    return self._program(shape)(self._pool, page_M, layer_L)

  def scatter(
      self, staging: Any, page_M: np.ndarray, first_layer: int | None = None
  ) -> jax.Array | None:
    """Pages overwritten; what is there then is summed up, or None."""
    kind = "scatter" if first_layer is None else "scatter_layers"
    shape = Shape(kind, len(page_M), K=heads_of(staging))
    layer_L = self._programs.first_layers(shape, first_layer or 0)
    self._pool, sums = self._program(shape)(
        self._pool, staging, page_M, layer_L
    )
    return sums

  def to_host(self, page_M: np.ndarray) -> list[np.ndarray]:
    """Pages copied to host memory: arrays [L, M, ...], as `gather` has them."""
    staging, _ = self.gather(page_M)
    return [np.asarray(leaf) for leaf in jax.tree.leaves(staging)]

  def from_host(
      self, content: Sequence[Sequence[np.ndarray]], page_M: np.ndarray
  ) -> None:
    """Pages overwritten by what `to_host` had of each, in order."""
    shape = Shape("scatter", len(page_M), K=self.config.shape[3])
    empty = self._programs.empty_staging(shape)
    leaves, tree = jax.tree.flatten(empty)
    for leaf, parts in zip(leaves, zip(*content, strict=True), strict=True):
      leaf[:, : len(content)] = np.stack(parts, axis=1)
    staging = jax.device_put(
        jax.tree.unflatten(tree, leaves), self._programs.staging_for(shape.K)
    )
    self.scatter(staging, page_M)

  def wait(self) -> None:
    """Until all work on the pool is done."""
    jax.block_until_ready(self._pool)

  def drop(self) -> None:
    """Frees the pool on the device; nothing can be done until `renew`."""
    self.wait()
    self._pool.delete()

  def renew(self) -> None:
    """An empty pool in place of the one that was dropped."""
    self._pool = self._new_pool()
    self.wait()

  def fill(self, value: float) -> None:
    """Overwrites every page, the sentinel too."""
    where = kv.pool_sharding(self.mesh)
    full = jax.jit(
        lambda pool: jnp.full_like(pool, value), donate_argnums=0,
        out_shardings=where,
    )
    self._pool = full(self._pool)

  def rows_on_device(self, rows: Rows) -> Rows:
    return jax.device_put(rows, meshes.replicated(self.mesh))

  def staging_for(self, staging: Any) -> Any:
    """How pages that were copied out elsewhere arrive here."""
    return self._programs.staging_for(heads_of(staging))

  @property
  def sent_page_bytes(self) -> int:
    """Of a page that travels from here."""
    return self._programs.sent_page_bytes

  # Programs. -----------------------------------------------------------------

  @property
  def num_programs(self) -> int:
    return len(self._compiled)

  def text_of(self, shape: Shape) -> str:
    """A compiled program as XLA writes it, for who reads its traces."""
    program: Any = self._program(shape)
    return program.as_text()

  def prepare(self, told: Callable[[Shape], None]) -> None:
    """Compiles every bucket and runs it once on the sentinel page."""
    for shape in self.buckets.shapes():
      self._rehearse(shape)
      told(shape)
    self.wait()

  def _rehearse(self, shape: Shape) -> None:
    page_M = packing.padded([], shape.M)
    match shape.kind:
      case "gather":
        jax.block_until_ready(self.gather(page_M))
      case "gather_layers":
        jax.block_until_ready(self.gather(page_M, 0))
      case "scatter":
        self.scatter(self._empty_staging(shape), page_M)
      case "scatter_layers":
        self.scatter(self._empty_staging(shape), page_M, 0)
      case "begin" | "stage":
        pass  # with `end`
      case "end":
        prompts = self._programs.no_prompts(shape)
        np.asarray(self.prefill_staged(prompts, lambda first_layer: None))
      case "decode":
        rows = self.rows_on_device(self._programs.no_rows(shape))
        feed, _ = self.decode(packing.feed_of((), shape.B), rows)
        np.asarray(self.decode(feed, rows)[1])
      case _:
        prompts = self._programs.no_prompts(shape)
        rows = self._programs.no_rows(shape)
        np.asarray(self.mixed(packing.feed_of((), shape.B), rows, prompts))

  def _empty_staging(self, shape: Shape) -> Any:
    zeros = self._programs.empty_staging(shape)
    return jax.device_put(zeros, self._programs.staging_for(shape.K))

  def _program(self, shape: Shape) -> Callable:
    if shape not in self._compiled:
      self._compiled[shape] = self._programs.lowered(shape).compile()
    return self._compiled[shape]


def heads_of(staging: Any) -> int:
  """Heads of pages that were copied out, copies included."""
  return jax.tree.leaves(staging)[0].shape[3]
