"""From a config to replicas on devices: meshes, weights, pools, buckets."""

from collections.abc import Sequence

import jax

from pdjax import buckets, config, ops
from pdjax import mesh as meshes
from pdjax.engine import capacity
from pdjax.engine.kernels import kernels_of
from pdjax.engine.passes import Passes
from pdjax.engine.programs import Programs
from pdjax.engine.replica import Replica
from pdjax.engine.stagedpass import StagedPasses
from pdjax.models import transformer, weights
from pdjax.models.spec import ModelSpec
from pdjax.models.staged import Staged
from pdjax.models.transformer import Transformer

Setting = tuple[Transformer, Replica]
"""A worker's model, and what runs it."""


def build(
    run: config.Run,
    spec: ModelSpec,
    limits: Sequence[buckets.Limits],
    devices: Sequence[meshes.Device],
    end_ids: tuple[int, ...],
    max_programs: int,
) -> list[Setting]:
  """Each worker's model and replica; nothing is compiled yet.

  Workers on the same devices share their weights.

  Raises:
    ConfigError: too few devices, the weights cannot be loaded, or the kernels
      that were asked for cannot run the model.
  """
  share = run.cluster.share_devices
  pools = config.pools_of(run)
  groups = meshes.split_devices(devices, pools, share=share)
  pages = capacity.pool_pages_of(run)
  models: dict[tuple[meshes.Device, ...], Transformer] = {}
  settings = []
  for group, limit, pool_pages in zip(groups, limits, pages, strict=True):
    if group not in models:
      mesh = meshes.make_mesh(group, len(group))
      models[group] = weights.load(
          run.model, spec, mesh, kernels_of(run, spec, mesh)
      )
    model = models[group]
    plan = buckets.plan(limit, max_programs)
    programs = programs_of(run, model, plan.R, pool_pages, end_ids)
    settings.append((model, Replica(programs, plan)))
  return settings


def programs_of(
    run: config.Run,
    model: Transformer,
    R: int,
    pool_pages: int,
    end_ids: tuple[int, ...],
) -> Programs:
  """A worker's programs; the model may hold only the shapes of its weights.

  `R` is `Buckets.R`; `pool_pages` are usable pages: the sentinel comes on top.
  """
  apply, params = transformer.pure(model)
  leaves, tree = jax.tree.flatten(params)  # a list flattens fast every step

  def unflatten(leaves):
    return jax.tree.unflatten(tree, leaves)

  page_tokens = run.cluster.page_tokens
  passes = Passes(
      lambda leaves, *args: apply(unflatten(leaves), *args), page_tokens,
      end_ids,
  )
  pool = transformer.pool_config(
      model.spec, tp=model.mesh.size, num_pages=pool_pages + 1,
      page_tokens=run.cluster.page_tokens, dtype=run.model.dtype,
      packed=ops.packed_on(model.kernels, model.spec.head_dim),
  )
  plan_of_transfer = run.strategy.transfer or config.TransferPlan()
  staged = None
  if plan_of_transfer.group_layers:
    staged = StagedPasses(
        Staged(model, plan_of_transfer.group_layers), unflatten,
        page_tokens, end_ids,
    )
  return Programs(
      passes=passes, staged=staged, params=leaves, config=pool, mesh=model.mesh,
      R=R, precision=run.engine.matmul_precision,
      verify=plan_of_transfer.verify, sampling=run.sampling,
      kernels=model.kernels, rounds=plan_of_transfer.payload == "int8",
  )
