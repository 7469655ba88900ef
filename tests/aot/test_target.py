"""Targets by name, and what a wrong name is told."""

import importlib.util

import pytest

from pdjax.aot.target import missing_compiler, target
from pdjax.config import ConfigError


def refusal(text: str) -> str:
  with pytest.raises(ConfigError) as caught:
    target(text)
  (line,) = caught.value.errors
  return line


@pytest.mark.parametrize(
    ("text", "chips", "devices"),
    [("v5e:4x4", 16, 16), ("v5p:2x2x2", 8, 8), ("tpu7x:2x2x1", 4, 8),
     ("h200", 1, 1), ("H200:8", 8, 8)],
)
def test_a_target_has_so_many_chips_and_devices(text, chips, devices):
  found = target(text)
  assert (found.num_chips, found.num_devices) == (chips, devices)


def test_cores_share_a_chips_memory():
  found = target("tpu7x:2x2x1")
  assert found.hbm_bytes * 2 == found.chip.hbm_bytes


@pytest.mark.parametrize(
    ("text", "says"),
    [("v5e", "say the slice too, as in v5e:2x2"),
     ("v5e:two", "say the slice too"),
     ("v5e:0x2", "needs chips"),
     ("h200:9", "h200:1 to h200:8"),
     ("v6:2x2", "did you mean 'v6e'"),
     ("", "no such target")],
)
def test_a_wrong_target_is_told_what_there_is(text, says):
  assert says in refusal(text)


def test_a_missing_compiler_names_the_command(monkeypatch):
  monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
  line = missing_compiler(target("v5e:2x2"))
  assert line and "pip install 'libtpu==" in line
  line = missing_compiler(target("h200"))
  assert line and "jax-cuda12-plugin==" in line
