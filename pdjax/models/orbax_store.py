"""Arrays of an Orbax checkpoint: saved once, restored onto any mesh.

Weights are kept in the model's own shape, without copies of heads, so what is
restored does not depend on the mesh it was saved from.
"""

import functools
import pathlib
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from jax.sharding import Mesh, NamedSharding

from pdjax import mesh as meshes
from pdjax.models.orbax_folder import OrbaxFolder
from pdjax.models.unfit import unfit
from pdjax.models.weight import Weight

_CHUNK_BYTES = 64 << 20
"""Of a stored array; a device's part is read by whole chunks."""

_CONCURRENT_GB = 1


def save(path: pathlib.Path, arrays: Mapping[str, jax.Array]) -> None:
  """Writes a checkpoint at a path where there is nothing yet."""
  tree = dict(arrays)
  each = {
      name: ocp.SaveArgs(chunk_byte_size=_CHUNK_BYTES) for name in tree
  }
  with _checkpointer() as checkpointer:
    checkpointer.save(
        path.absolute(), args=ocp.args.PyTreeSave(tree, save_args=each)
    )


def restore(
    folder: OrbaxFolder, weight: Weight, dtype: jnp.dtype, mesh: Mesh
) -> jax.Array:
  """One weight on the mesh, in its stored shape.

  Raises:
    ConfigError: the checkpoint is damaged.
  """
  axes = tuple(
      # A head that several devices hold copies of goes to all of them first.
      "head" if axis == "kv_heads" and weight.copies > 1 else axis
      for axis in weight.axes
  )
  wanted = {
      weight.name: jax.ShapeDtypeStruct(
          weight.model_shape, dtype, sharding=meshes.sharding(mesh, axes)
      )
  }
  value = _restored(folder, wanted)[weight.name]
  if weight.copies == 1:
    return value
  axis = weight.axes.index("kv_heads")
  where = meshes.sharding(mesh, weight.axes)
  return jax.device_put(_repeated(value, weight.copies, axis, where), where)


def _restored(
    folder: OrbaxFolder, wanted: Mapping[str, jax.ShapeDtypeStruct]
) -> dict[str, jax.Array]:
  args = ocp.checkpoint_utils.construct_restore_args(wanted)
  try:
    with _checkpointer() as checkpointer:
      return checkpointer.restore(
          folder.weights.absolute(),
          args=ocp.args.PyTreeRestore(
              item=wanted, restore_args=args, partial_restore=True
          ),
      )
  except Exception as error:  # Orbax wraps what it meets in a plain one
    reason = str(error.__cause__ or error).splitlines()[0]
    raise unfit(
        folder.weights, f"is damaged ({reason}); convert the weights again"
    ) from error


def _checkpointer() -> ocp.Checkpointer:
  return ocp.Checkpointer(ocp.PyTreeCheckpointHandler(
      save_concurrent_gb=_CONCURRENT_GB, restore_concurrent_gb=_CONCURRENT_GB
  ))


@functools.partial(jax.jit, static_argnums=(1, 2, 3))
def _repeated(
    value: jax.Array, copies: int, axis: int, where: NamedSharding
) -> jax.Array:
  """Each head `copies` times in a row, one a device."""
  source = np.arange(value.shape[axis] * copies) // copies
  return jax.lax.with_sharding_constraint(
      jnp.take(value, source, axis), where
  )
