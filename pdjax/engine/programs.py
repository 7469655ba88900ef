"""The programs of one worker, lowered from shapes alone.

So what a replica compiles for the devices it has can be compiled as well, from
the same lines, for devices that are only described.

Dimension key: docs/notation.md.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding

from pdjax import kv, rounded, transfer
from pdjax import mesh as meshes
from pdjax.buckets import Shape
from pdjax.config import Sampling
from pdjax.engine import packing
from pdjax.engine.passes import Passes, Prompts, Rows
from pdjax.engine.stagedpass import StagedPasses
from pdjax.ops import Kernels


@dataclasses.dataclass(frozen=True, kw_only=True)
class Programs:
  """Makes a program of every shape."""

  passes: Passes
  staged: StagedPasses | None
  """Of prompts whose pages leave layer by layer."""
  params: Any
  """Weights, or their shapes with shardings: a list."""
  config: kv.KVPoolConfig
  mesh: Mesh
  R: int
  """Prompt chunks in a pass."""
  precision: str
  """Of matrix products, see `jax.default_matmul_precision`."""
  verify: bool
  """Gather and scatter also sum up the pages they handle."""
  kernels: Kernels
  rounds: bool
  """Pages travel as int8."""
  sampling: Sampling
  """Of the run: whether tokens are drawn, and with cuts, is compiled in."""

  def lowered(self, shape: Shape) -> jax.stages.Lowered:
    """The pool goes in and out in one explicit sharding, or it is copied."""
    with jax.default_matmul_precision(self.precision):
      match shape.kind:
        case "gather" | "gather_layers":
          return self._lower_gather(shape)
        case "scatter" | "scatter_layers":
          return self._lower_scatter(shape)
        case "begin" | "stage" | "end":
          return self._lower_stage(shape)
        case _:
          return self._lower_pass(shape)

  @property
  def sent_page_bytes(self) -> int:
    """Of a page that travels from here."""
    if self.rounds:
      return rounded.page_bytes(self.config)
    return self.config.page_bytes

  def staging_for(self, heads: int) -> Any:
    """How pages with that many heads arrive here."""
    if self.rounds:
      return rounded.shardings(self.mesh, heads)
    return kv.staging_sharding(self.mesh, heads)

  def empty_staging(self, shape: Shape) -> Any:
    """Zeros of what arrives, on the host: [L, M, 2, K, C, H] or the like."""
    L = self.layers_of(shape)
    if self.rounds:
      return rounded.empty(self.config, L, shape.M, shape.K)
    _, _, pair, _, C, H = self.config.shape
    dtype = jnp.dtype(self.config.dtype)
    return np.zeros((L, shape.M, pair, shape.K, C, H), dtype)

  def layers_of(self, shape: Shape) -> int:
    """That are copied together."""
    if self.staged and shape.kind.endswith("_layers"):
      return self.staged.staged.layers
    return self.config.num_layers

  def no_rows(self, shape: Shape) -> Rows:
    """Decode rows of the shape, all of them empty."""
    return packing.rows_of((), shape.B, shape.M, self.sampling)

  def no_prompts(self, shape: Shape) -> Prompts:
    """Chunks of the shape, all of it padding."""
    return packing.prompts_of((), shape.U, shape.M, self.R, self.sampling)

  def _lower_gather(self, shape: Shape) -> jax.stages.Lowered:
    pool = kv.pool_sharding(self.mesh)
    sent = self.staging_for(self.config.shape[3])
    program = jax.jit(
        self._gather, in_shardings=(pool, self._whole, self._whole),
        out_shardings=(sent, self._whole),
    )
    return program.lower(
        self._pool(), packing.padded([], shape.M), self.first_layers(shape)
    )

  def _lower_scatter(self, shape: Shape) -> jax.stages.Lowered:
    pool, staging = kv.pool_sharding(self.mesh), self.staging_for(shape.K)
    program = jax.jit(
        self._scatter, donate_argnums=0, out_shardings=(pool, self._whole),
        in_shardings=(pool, staging, self._whole, self._whole),
    )
    arriving = jax.tree.map(
        lambda zeros, where: jax.ShapeDtypeStruct(
            zeros.shape, zeros.dtype, sharding=where
        ),
        self.empty_staging(shape), staging,
    )
    return program.lower(
        self._pool(), arriving, packing.padded([], shape.M),
        self.first_layers(shape),
    )

  def first_layers(self, shape: Shape, first: int = 0) -> np.ndarray:
    """Numbers of the layers that are copied, from `first` on."""
    return np.arange(first, first + self.layers_of(shape), dtype=np.int32)

  def _lower_pass(self, shape: Shape) -> jax.stages.Lowered:
    pool = kv.pool_sharding(self.mesh)
    args = [packing.feed_of((), shape.B), self.no_rows(shape)]
    function = self.passes.decode
    if shape.kind != "decode":
      function = self.passes.mixed
      args.append(self.no_prompts(shape))
    params = jax.tree.map(lambda weight: weight.sharding, self.params)
    program = jax.jit(
        function, donate_argnums=1,
        out_shardings=(pool, self._whole, self._whole),
        in_shardings=(params, pool, *[self._whole] * len(args)),
    )
    return program.lower(self.params, self._pool(), *args)

  def _lower_stage(self, shape: Shape) -> jax.stages.Lowered:
    """The vectors between stages lie whole on each device."""
    assert self.staged is not None
    params = jax.tree.map(lambda weight: weight.sharding, self.params)
    pool, whole = kv.pool_sharding(self.mesh), self._whole
    prompts = self.no_prompts(shape)
    if shape.kind == "begin":
      program = jax.jit(
          self.staged.begin, in_shardings=(params, whole), out_shardings=whole
      )
      return program.lower(self.params, prompts)
    vectors = jax.eval_shape(self.staged.begin, self.params, prompts)
    x_UD = jax.ShapeDtypeStruct(vectors.shape, vectors.dtype, sharding=whole)
    if shape.kind == "end":
      program = jax.jit(
          self.staged.end, in_shardings=(params, whole, whole),
          out_shardings=whole,
      )
      return program.lower(self.params, x_UD, prompts)
    weights = self.staged.weights(self.params)[0]
    shardings = jax.tree.map(lambda weight: weight.sharding, weights)
    program = jax.jit(
        self.staged.stage, donate_argnums=(1, 2), out_shardings=(pool, whole),
        in_shardings=(shardings, pool, whole, whole, whole),
    )
    return program.lower(weights, self._pool(), x_UD, prompts, np.int32(0))

  @property
  def _whole(self) -> NamedSharding:
    return meshes.replicated(self.mesh)

  def _pool(self) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(
        self.config.shape, self.config.dtype,
        sharding=kv.pool_sharding(self.mesh),
    )

  def _gather(self, pool_LP2KCH, page_M, layer_L):
    if not self.rounds:
      staging_LM2KCH = self._copied(pool_LP2KCH, page_M, layer_L)
      return staging_LM2KCH, self._sums(staging_LM2KCH)
    staging = rounded.gather(
        pool_LP2KCH, page_M, layer_L, self.mesh, self.kernels
    )
    return staging, self._sums(rounded.restored(staging, self.config.dtype))

  def _scatter(self, pool_LP2KCH, staging, page_M, layer_L):
    if self.rounds:
      pool_LP2KCH = rounded.scatter(
          pool_LP2KCH, staging, page_M, layer_L, self.mesh, self.kernels
      )
    elif len(layer_L) == self.config.num_layers:
      pool_LP2KCH = kv.scatter_pages(pool_LP2KCH, staging, page_M)
    else:
      pool_LP2KCH = kv.scatter_pages(pool_LP2KCH, staging, page_M, layer_L)
    return pool_LP2KCH, self._sums(self._copied(pool_LP2KCH, page_M, layer_L))

  def _copied(self, pool_LP2KCH, page_M, layer_L) -> jax.Array:
    if len(layer_L) == self.config.num_layers:
      return kv.gather_pages(pool_LP2KCH, page_M)
    return kv.gather_layers(pool_LP2KCH, page_M, layer_L)

  def _sums(self, pages_LM2KCH: jax.Array) -> jax.Array | None:
    if not self.verify:
      return None
    return transfer.checksums(pages_LM2KCH, self.config.num_kv_heads)
