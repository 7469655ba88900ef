"""Faults put into a kernel on purpose are seen.

Plain interpret mode copies at once, so only the interpreter that copies at the
wait sees a wait that is missing. It can hang, so it runs in a process of its
own.
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from pdjax_kernels import stream
from pdjax_kernels.paged_decode import reference, tpu
from pdjax_kernels.paged_decode.blocks import TpuBlocks
from tests.kernels.problems import SCALE, Shape, cache, queries, table

shape, length_B = Shape(N=2, K=1, M=3), np.array([0, 9, 24], np.int32)
page_BM = table(shape, 3)
problem = queries(shape, 3), cache(shape, page_BM, length_B), page_BM, length_B
want_BNH, _ = reference.paged_decode(*problem, scale=SCALE)

def right():
  got_BNH, _ = tpu.paged_decode(
      *problem, scale=SCALE, blocks=TpuBlocks(pages=1, heads=1),
      interpret=pltpu.InterpretParams(),
  )
  return bool(np.allclose(got_BNH, want_BNH, atol=2e-5))

sound = right()
stream.PageStream._wait = lambda *_: None
print(sound, right())
"""


def test_a_missing_wait_is_seen():
  paths = f"{ROOT}{os.pathsep}{ROOT / 'kernels'}"
  ran = subprocess.run(
      [sys.executable, "-c", PROGRAM], capture_output=True, text=True,
      timeout=300, check=False,
      env={**os.environ, "PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"},
  )
  assert ran.stdout.split() == ["True", "False"], ran.stderr
