"""Environments of measured cells, and the question what devices there are."""

import pytest

from pdjax import schema
from pdjax.config import ConfigError
from pdjax.sweep import devices


def run_of(host_devices):
  return schema.run_from_tree({"cluster": {"host_devices": host_devices}})


def test_host_devices_replace_an_older_count(monkeypatch):
  old = "--xla_a=1 --xla_force_host_platform_device_count=8 --xla_b=2"
  monkeypatch.setenv("XLA_FLAGS", old)
  env = devices.environment(run_of(2))
  assert env["XLA_FLAGS"].split() == [
      "--xla_a=1", "--xla_b=2", "--xla_force_host_platform_device_count=2",
  ]
  assert env["JAX_PLATFORMS"] == "cpu"


def test_without_host_devices_the_environment_stays(monkeypatch):
  monkeypatch.setenv("XLA_FLAGS", "--xla_a=1")
  monkeypatch.setenv("JAX_PLATFORMS", "tpu")
  env = devices.environment(run_of(None))
  assert (env["XLA_FLAGS"], env["JAX_PLATFORMS"]) == ("--xla_a=1", "tpu")


def test_compiled_programs_are_kept_in_the_cache(monkeypatch, tmp_path):
  monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
  monkeypatch.setenv("PDJAX_CACHE", str(tmp_path))
  env = devices.environment(run_of(None))
  assert env["JAX_COMPILATION_CACHE_DIR"] == str(tmp_path / "compiled")
  monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "mine")
  assert devices.environment(run_of(1))["JAX_COMPILATION_CACHE_DIR"] == "mine"


def test_host_devices_need_no_question(monkeypatch):
  monkeypatch.setattr(devices, "_found", lambda: pytest.fail("asked"))
  assert devices.devices_of(run_of(4)) == devices.Devices("cpu", "cpu", 4)


def test_devices_are_counted_and_refusals_are_one_line(monkeypatch):
  devices._found.cache_clear()
  monkeypatch.setenv(
      "XLA_FLAGS", "--xla_force_host_platform_device_count=3"
  )
  monkeypatch.setenv("JAX_PLATFORMS", "cpu")
  assert devices.devices_of(run_of(None)).count == 3
  devices._found.cache_clear()
  monkeypatch.setenv("JAX_PLATFORMS", "nonsense")
  with pytest.raises(ConfigError, match="^backend.kind: JAX finds no device"):
    devices.devices_of(run_of(None))
  devices._found.cache_clear()
