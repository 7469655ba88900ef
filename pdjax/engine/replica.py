"""One model on one mesh: weights, page pool, compiled programs. No thread.

Only one thread may use a replica: every step donates the pool, and whoever
still holds the old one holds a deleted array.

Dimension key: docs/notation.md.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from pdjax import kv, transfer
from pdjax import mesh as meshes
from pdjax.engine import packing
from pdjax.engine.buckets import Buckets, Shape
from pdjax.engine.passes import Feed, Passes, Prompts, Rows

MAX_ROWS = 8
"""Prompt chunks packed into one pass."""


class Replica:
  """Runs compiled passes on its pool.

  Args:
    passes: of the model.
    params: weights on `mesh`, the first argument of the passes.
    config: of the pool.
    mesh: of this worker.
    buckets: the shapes that will be asked for.
    precision: of matrix products, see `jax.default_matmul_precision`.
    verify: gather and scatter also sum up the pages they handle.
  """

  def __init__(
      self,
      passes: Passes,
      params: Any,
      config: kv.KVPoolConfig,
      mesh: Mesh,
      buckets: Buckets,
      *,
      precision: str,
      verify: bool,
  ):
    self.config, self.mesh, self.buckets = config, mesh, buckets
    self.R = min(MAX_ROWS, buckets.B[-1])
    """Chunks in a pass."""
    self._passes, self._params = passes, params
    self._precision, self._verify = precision, verify
    self._whole = meshes.replicated(mesh)
    self._programs: dict[Shape, Callable] = {}
    self._pool = kv.new_pool(config, mesh)

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

  def gather(self, page_M: np.ndarray) -> tuple[jax.Array, jax.Array | None]:
    """Pages copied out: (staging_LM2KCH, checksums or None)."""
    return self._program(Shape("gather", len(page_M)))(self._pool, page_M)

  def scatter(
      self, staging_LM2KCH: jax.Array, page_M: np.ndarray
  ) -> jax.Array | None:
    """Pages overwritten; what is there then is summed up, or None."""
    shape = Shape("scatter", len(page_M), K=staging_LM2KCH.shape[3])
    self._pool, sums = self._program(shape)(self._pool, staging_LM2KCH, page_M)
    return sums

  def wait(self) -> None:
    """Until all work on the pool is done."""
    jax.block_until_ready(self._pool)

  def fill(self, value: float) -> None:
    """Overwrites every page, the sentinel too."""
    where = kv.pool_sharding(self.mesh)
    full = jax.jit(
        lambda pool: jnp.full_like(pool, value), donate_argnums=0,
        out_shardings=where,
    )
    self._pool = full(self._pool)

  def rows_on_device(self, rows: Rows) -> Rows:
    return jax.device_put(rows, self._whole)

  def staging_for(self, heads: int) -> jax.sharding.NamedSharding:
    """How pages with that many heads arrive here."""
    return kv.staging_sharding(self.mesh, heads)

  # Programs. -----------------------------------------------------------------

  @property
  def num_programs(self) -> int:
    return len(self._programs)

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
      case "scatter":
        self.scatter(self._empty_staging(shape), page_M)
      case "decode":
        rows = packing.rows_of((), shape.B, shape.M)
        rows = self.rows_on_device(rows)
        feed, _ = self.decode(packing.feed_of((), shape.B), rows)
        np.asarray(self.decode(feed, rows)[1])
      case _:
        prompts = packing.prompts_of((), shape.U, shape.M, self.R)
        rows = packing.rows_of((), shape.B, shape.M)
        np.asarray(self.mixed(packing.feed_of((), shape.B), rows, prompts))

  def _empty_staging(self, shape: Shape) -> jax.Array:
    L, _, _, _, C, H = self.config.shape
    dtype = jnp.dtype(self.config.dtype)
    zeros = np.zeros((L, shape.M, 2, shape.K, C, H), dtype)
    return jax.device_put(zeros, self.staging_for(shape.K))

  def _program(self, shape: Shape) -> Callable:
    if shape not in self._programs:
      with jax.default_matmul_precision(self._precision):
        self._programs[shape] = self._lower(shape).compile()
    return self._programs[shape]

  def _lower(self, shape: Shape):
    """The pool goes in and out in one explicit sharding, or it is copied."""
    pool, whole = kv.pool_sharding(self.mesh), self._whole
    page_M = packing.padded([], shape.M)
    match shape.kind:
      case "gather":
        program = jax.jit(
            self._gather, in_shardings=(pool, whole),
            out_shardings=(pool, whole),
        )
        return program.lower(self._pool, page_M)
      case "scatter":
        program = jax.jit(
            self._scatter, donate_argnums=0, out_shardings=(pool, whole),
            in_shardings=(pool, self.staging_for(shape.K), whole),
        )
        return program.lower(self._pool, self._empty_staging(shape), page_M)
      case _:
        return self._lower_pass(shape)

  def _lower_pass(self, shape: Shape):
    pool, whole = kv.pool_sharding(self.mesh), self._whole
    params = jax.tree.map(lambda weight: weight.sharding, self._params)
    args = [
        packing.feed_of((), shape.B), packing.rows_of((), shape.B, shape.M)
    ]
    function = self._passes.decode
    if shape.kind != "decode":
      function = self._passes.mixed
      args.append(packing.prompts_of((), shape.U, shape.M, self.R))
    program = jax.jit(
        function, donate_argnums=1, out_shardings=(pool, whole, whole),
        in_shardings=(params, pool, *[whole] * len(args)),
    )
    return program.lower(self._params, self._pool, *args)

  def _gather(self, pool_LP2KCH: jax.Array, page_M: jax.Array):
    staging_LM2KCH = kv.gather_pages(pool_LP2KCH, page_M)
    return staging_LM2KCH, self._sums(staging_LM2KCH)

  def _scatter(self, pool_LP2KCH, staging_LM2KCH, page_M):
    pool_LP2KCH = kv.scatter_pages(pool_LP2KCH, staging_LM2KCH, page_M)
    return pool_LP2KCH, self._sums(kv.gather_pages(pool_LP2KCH, page_M))

  def _sums(self, pages_LM2KCH: jax.Array) -> jax.Array | None:
    if not self._verify:
      return None
    return transfer.checksums(pages_LM2KCH, self.config.num_kv_heads)
