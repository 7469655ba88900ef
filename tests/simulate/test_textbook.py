"""The reference texts' numbers come out exactly: they are arithmetic."""

import pytest

from pdjax.models.presets import preset
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.links import Link
from pdjax.simulate.roofline import (
    decode_points,
    prefill_points,
    roof_flops_per_s,
    square_projection,
)

A100 = CHIPS["a100-80gb-sxm"]
HDR = Link(200 * 10**9 // 8)
MS = 10**9


def test_ridge_of_an_a100():
  """312 TFLOP/s over 2,039 GB/s."""
  assert round(A100.ridge_flop_per_byte) == 153


@pytest.mark.parametrize(
    "rows, exact, told",
    [
        (512, 409.6, 410), (1024, 2048 / 3, 680), (1, 0.9995, 1),
        (32, 31.508, 32),
    ],
)
def test_intensity_of_a_square_projection(rows, exact, told):
  """2 M D^2 over 2 (2 M D + D^2) at D = 4096; texts round."""
  work = square_projection(rows, 4096)
  assert work.flops == 2 * rows * 4096**2
  assert work.intensity == pytest.approx(exact, rel=1e-4)
  assert work.intensity == pytest.approx(told, rel=0.016)


@pytest.mark.parametrize(
    "name, exact_bytes, told_mb, told_ms",
    [
        ("llama-3-8b", 2048 * 131_072, 270, 11),
        ("llama-3-70b", 2048 * 327_680, 670, 27),
    ],
)
def test_kv_of_2048_tokens_over_infiniband(
    name, exact_bytes, told_mb, told_ms
):
  size = AnalyticalCost(preset(name), A100).transfer_bytes(2048)
  assert size == exact_bytes
  assert round(size / 1e7) * 10 == told_mb
  assert round(HDR.transfer_ps(size) / MS) == told_ms


def test_a_prompt_in_one_step_holds_answers_up_and_chunks_spread_it():
  """2,048 tokens at once: tens of milliseconds become hundreds."""
  from pdjax.schedule.cost import StepShape

  cost = AnalyticalCost(preset("llama-3-8b"), A100)

  def step_ms(*chunks):
    shape = StepShape(chunks, 32, 32 * 1000)
    return cost.step(shape)[0].first_ps / MS

  alone, whole = step_ms(), step_ms((2048, 0))
  chunks = [step_ms((512, done)) for done in range(0, 2048, 512)]
  assert 10 < alone < 30
  assert 150 < whole < 300
  assert max(chunks) < whole / 2.5


def test_phases_lie_on_either_side_of_the_ridge():
  cost = AnalyticalCost(preset("llama-3-8b"), A100)
  ridge = A100.ridge_flop_per_byte
  decodes = decode_points(cost, (1, 32), 1024)
  prefills = prefill_points(cost, (512, 2048))
  assert all(point.intensity < ridge / 4 for point in decodes)
  assert all(point.intensity > ridge for point in prefills)
  for point in (*decodes, *prefills):
    roof = roof_flops_per_s(
        cost.peak_flops, cost.peak_bytes_per_s, point.intensity
    )
    assert 0.2 * roof < point.flops_per_s < roof
