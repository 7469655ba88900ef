"""Meshes, sharding rules, and the sharing out of devices."""

import jax
import pytest
from jax.sharding import PartitionSpec

from pdjax import config
from pdjax import mesh as meshes


def _pool(role, count, tp):
  return config.Pool(role=role, count=count, tp=tp)


def test_logical_axes_become_mesh_axes():
  axes = ("layers", "embed", "heads", "head")
  assert meshes.partition(axes) == PartitionSpec(None, None, "tp", None)
  mesh = meshes.make_mesh(jax.devices(), 2)
  assert meshes.sharding(mesh, axes).shard_shape((3, 8, 4, 16)) == (3, 8, 2, 16)
  assert meshes.replicated(mesh).is_fully_replicated


def test_two_axes_on_one_mesh_axis_collide():
  with pytest.raises(ValueError, match="one mesh axis twice"):
    meshes.partition(("heads", "ffn"))


def test_axis_without_a_rule_is_refused():
  with pytest.raises(ValueError, match="'depth'"):
    meshes.partition(("layers", "depth"))


@pytest.mark.parametrize("tp", [0, 3])
def test_mesh_needs_its_devices(tp):
  with pytest.raises(config.ConfigError, match="does not fit 2 device"):
    meshes.make_mesh(jax.devices()[:2], tp)


def test_workers_get_disjoint_devices_in_order():
  devices = jax.devices()[:6]
  pools = [_pool("P", 1, 2), _pool("D", 2, 1)]
  groups = meshes.split_devices(devices, pools)
  assert [len(group) for group in groups] == [2, 1, 1]
  assert [d for group in groups for d in group] == devices[:4]


def test_shared_devices_are_the_first():
  devices = jax.devices()[:2]
  pools = [_pool("P", 1, 1), _pool("D", 1, 2)]
  groups = meshes.split_devices(devices, pools, share=True)
  assert groups == [tuple(devices[:1]), tuple(devices)]


def test_too_few_devices_say_how_many_are_needed():
  with pytest.raises(config.ConfigError) as error:
    meshes.split_devices(jax.devices()[:3], [_pool("C", 2, 2)])
  (line,) = error.value.errors
  assert "need 4 devices" in line and "host_devices=4" in line
