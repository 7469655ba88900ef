"""Kernels that copy, where copies arrive at the wait and not before.

Plain interpret mode copies at once, so only this interpreter sees a wait that
is missing. It can hang: the cases run in a process with a timeout each, which
is started again behind one that ended it.
"""

import functools
import os
import sys
from pathlib import Path

import pytest

from pdjax.aot.process import Process
from tests.kernels import dma

ROOT = Path(__file__).resolve().parents[2]

NO_WAIT = [name for name in dma.PLANTED if "!no_wait" in name]
"""The other faults are seen in plain interpret mode, too (decision 19)."""


@functools.cache
def _answers() -> dict[str, dict | str]:
  """To every case, once a session."""
  names = [*dma.CASES, *NO_WAIT]
  paths = f"{ROOT}{os.pathsep}{ROOT / 'kernels'}"
  process = Process(
      command=[sys.executable, "-m", "tests.kernels.dma"], timeout_s=240,
      environment={
          "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""
      },
  )
  return dict(zip(names, process.answers(names, list), strict=True))


@pytest.mark.parametrize("name", dma.CASES)
def test_copies_are_waited_for(name):
  assert _answers()[name] == {"right": True}


@pytest.mark.parametrize("name", NO_WAIT)
def test_a_missing_wait_is_seen(name):
  assert _answers()[name] != {"right": True}


def test_each_kernel_has_six_to_ten_cases():
  assert all(6 <= len(cases) <= 10 for cases in dma.PROBLEMS.values())
