"""Which kernels a worker's model runs on, settled before any compile."""

from jax.sharding import Mesh

from pdjax import config, ops
from pdjax.models.spec import ModelSpec


def kernels_of(run: config.Run, spec: ModelSpec, mesh: Mesh) -> ops.Kernels:
  """What `engine.kernels` says, or the mesh's platform.

  Raises:
    ConfigError: there are no such kernels, or they cannot run the model.
  """
  try:
    kernels = ops.kernels_for(mesh, run.engine.kernels)
    return kernels.for_spec(ops.Spec(
        num_heads=spec.num_heads // mesh.size,
        num_kv_heads=max(1, spec.num_kv_heads // mesh.size),
        head_dim=spec.head_dim,
        page_tokens=run.cluster.page_tokens,
        dtype=run.model.dtype,
        kv_dtype=run.model.dtype,
        packed=ops.packed_on(kernels, spec.head_dim),
    ))
  except ValueError as error:
    raise config.ConfigError([f"engine.kernels: {error}"]) from error
