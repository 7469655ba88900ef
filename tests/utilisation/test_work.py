"""All runs at once against the cost model's step by step."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.metrics.shapes import Chunks, Decodes, Shapes
from pdjax.models.presets import preset
from pdjax.schedule.cost import StepShape
from pdjax.simulate.chips import chip
from pdjax.simulate.kernels import Kernels
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.stepwork import step_work
from pdjax.simulate.tiles import tiled_flops, tiled_flops_of
from pdjax.simulate.work import Operators
from pdjax.utilisation.arithmetic import math_s
from pdjax.utilisation.work import works

MODELS = ("llama-3-8b", "opt-13b", "mixtral-8x7b", "deepseek-v3")

prefills = st.lists(
    st.tuples(st.integers(1, 900), st.integers(0, 3000)), max_size=3
)
contexts = st.lists(st.integers(1, 3000), max_size=5)


@st.composite
def steps(draw) -> StepShape:
  prefill, decodes = draw(prefills), draw(contexts)
  if not prefill and not decodes:
    decodes = [7]
  return StepShape(
      tuple(prefill), len(decodes), sum(decodes),
      repeats=1 if prefill else draw(st.integers(1, 40)),
      decode_contexts=tuple(decodes),
  )


def gathered(each: list[StepShape]) -> Shapes:
  """The shapes of runs, as a log would give them."""
  chunks = [(i, *chunk) for i, s in enumerate(each) for chunk in s.prefill]
  decodes = [(i, c) for i, s in enumerate(each) for c in s.decode_contexts]
  zeros = np.zeros(len(each), np.int64)
  return Shapes(
      worker=zeros,
      steps=np.array([s.repeats for s in each]),
      begin_ps=zeros,
      end_ps=zeros,
      seqs=np.array([s.decode_seqs for s in each]),
      rows=np.array([s.rows for s in each]),
      tokens=np.array([s.tokens for s in each]),
      chunks=Chunks(*np.array(chunks, np.int64).reshape(-1, 3).T),
      decodes=Decodes(*np.array(decodes, np.int64).reshape(-1, 2).T),
  )


@pytest.mark.parametrize("window", [None, 1, 64, 1000])
@pytest.mark.parametrize("model", MODELS)
@settings(max_examples=15)
@given(each=st.lists(steps(), min_size=1, max_size=4))
def test_work_is_that_of_the_steps(model, window, each):
  spec = dataclasses.replace(preset(model), sliding_window=window)
  operators = Operators(spec)
  together = works(operators, gathered(each))
  for i, shape in enumerate(each):
    alone = step_work(operators, shape)
    assert together.flops[i] == pytest.approx(alone.flops, rel=1e-12)
    assert together.bytes[i] == pytest.approx(alone.bytes, rel=1e-12)


@pytest.mark.parametrize("name", ["h100-sxm", "tpu-v5e"])
@given(
    rows=st.lists(st.integers(1, 9000), min_size=1, max_size=5),
    matrices=st.integers(1, 8),
)
def test_tiles_of_many_are_those_of_each(name, rows, matrices):
  on = chip(name)
  many = tiled_flops_of(
      on, np.array(rows), 4096, 1234, np.full(len(rows), matrices)
  )
  assert many.tolist() == [
      tiled_flops(on, each, 4096, 1234, matrices) for each in rows
  ]


@pytest.mark.parametrize("model", ["llama-3-8b", "deepseek-v3"])
@pytest.mark.parametrize(
    "layout", [Layout(), Layout(tp=4), Layout(tp=2, pp=2, microbatches=3)]
)
@given(shape=steps())
@settings(max_examples=10)
def test_t_math_is_what_the_kernels_add_up(model, layout, shape):
  """On chips whose memory is endless and whose efficiency is 1, the cost
  model's products take T_math, bubbles of a pipeline apart."""
  spec, on = preset(model), chip("h100-sxm")
  fast = dataclasses.replace(on, hbm_bytes_per_s=10**24)
  ideal = Scalars(matmul_efficiency=1.0, attention_efficiency=1.0)
  kernels = Kernels(spec, fast, Dtypes(), layout, ideal)
  parts = kernels.parts(shape.tokens, shape.rows)
  for name in ("elementwise", "gaps", "collectives", "stage hops"):
    del parts[name]
  batches = layout.parts(shape.tokens)
  bubbles = (batches + layout.pp - 1) / batches
  products_s = sum(parts.values()) / 1e12 / bubbles * shape.repeats
  operators = Operators(spec, Dtypes(), layout)
  shapes = gathered([shape])
  alone = dataclasses.replace(
      shapes,
      chunks=Chunks(*np.zeros((3, 0), np.int64)),
      decodes=Decodes(*np.zeros((2, 0), np.int64)),
  )
  assert math_s(operators, on, alone)[0] == pytest.approx(products_s, rel=1e-4)
  attention_s = math_s(operators, on, shapes)[0] - math_s(
      operators, on, alone
  )[0]
  needed = works(operators, shapes).flops - works(operators, alone).flops
  peak = layout.chips * on.flops("bfloat16")
  assert attention_s == pytest.approx(needed[0] / peak, rel=1e-6, abs=1e-12)
