"""Tiles: how much a product is rounded up, by hand and as laws."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.simulate.chips import CHIPS
from pdjax.simulate.tiles import tiled_flops

A100, V5E = CHIPS["a100-80gb-sxm"], CHIPS["tpu-v5e"]


def test_waves_by_hand():
  """[1024, 64] x [64, 2048] on 8 units: 4 x 16 tiles of 256 x 128 are 8 full
  waves; one row more is 5 x 16, 10 waves."""
  eight = dataclasses.replace(A100, compute_units=8)
  assert tiled_flops(eight, 1024, 64, 2048) == 2 * 1024 * 64 * 2048
  # Smaller tiles, 9 x 16 of 128 x 128 in 18 waves at 95 %, waste less here.
  assert tiled_flops(eight, 1025, 64, 2048) == (
      2 * 64 * (9 * 16 * 128 * 128 * 100 // 95)
  )


def test_few_tiles_share_the_inner_dimension():
  """64 x 128 of a result is one tile; all 108 units take a part of it."""
  assert tiled_flops(A100, 64, 8192, 128) == (
      2 * 8192 * (64 * 128 * 100 // 85)
  )


def test_a_token_more_can_cost_a_third():
  """257 tokens against 256 through Llama-2-7B's fused query, key, value."""
  more = tiled_flops(A100, 257, 4096, 12288)
  assert 1.2 < more / tiled_flops(A100, 256, 4096, 12288) < 1.5


def test_a_systolic_array_pads():
  assert tiled_flops(V5E, 1, 128, 128) == 2 * 8 * 128 * 128
  assert tiled_flops(V5E, 9, 100, 130) == 2 * 16 * 128 * 256


def test_a_chip_of_unknown_shape_rounds_nothing():
  plain = dataclasses.replace(A100, compute_units=None)
  assert tiled_flops(plain, 3, 5, 7, 2) == 2 * 2 * 3 * 5 * 7


@pytest.mark.parametrize("chip", [A100, V5E], ids=lambda chip: chip.name)
@given(
    rows=st.integers(1, 5000), inner=st.integers(1, 5000),
    outer=st.integers(1, 5000), matrices=st.integers(1, 64),
)
def test_never_less_than_the_product_and_never_less_for_more(
    chip, rows, inner, outer, matrices
):
  charged = tiled_flops(chip, rows, inner, outer, matrices)
  assert charged >= 2 * matrices * rows * inner * outer
  assert tiled_flops(chip, rows + 1, inner, outer, matrices) >= charged
  assert tiled_flops(chip, rows, inner, outer + 1, matrices) >= charged
