"""Matrix products in tiles: the arithmetic that rounding up adds.

A GPU deals the tiles of a product's result to its multiprocessors, wave after
wave; the last wave, the last row and the last column of tiles are seldom full.
257 rows therefore cost what 384 do. Libraries choose among tile shapes, of
which large ones reuse operands better, and split the inner dimension while
there are fewer tiles than units. A systolic array pads instead. (NVIDIA, Matrix
multiplication background user's guide; Jouppi et al., ISCA 2017.)

All integers: what is counted are operations a whole chip could do meanwhile.
"""

import numpy as np

from pdjax.simulate.chip import Chip

_GPU_TILES = (
    (256, 128, 100), (128, 128, 95), (64, 128, 85), (64, 64, 70), (32, 128, 60),
    (16, 128, 45),
)
"""Rows, columns, and percent of the best tile's speed; assumed, in the order
of the operations for each operand read."""
_SUBLANES = 8


def tiled_flops(
    chip: Chip, rows: int, inner: int, outer: int, matrices: int = 1
) -> int:
  """Operations charged for `matrices` products [rows, inner] x [inner, outer].

  At least `2 * matrices * rows * inner * outer`.
  """
  if chip.compute_units is not None:
    units = chip.compute_units
    return 2 * inner * min(
        _waves(units, matrices * -(-rows // height) * -(-outer // width))
        * height * width * 100 // speed
        for height, width, speed in _GPU_TILES
    )
  if chip.matrix_tile is not None:
    side = chip.matrix_tile
    rows = _up(rows, _SUBLANES)
    inner, outer = _up(inner, side), _up(outer, side)
  return 2 * matrices * rows * inner * outer


def _waves(units: int, tiles: int) -> int:
  """Tiles' worth of time of the whole chip, unused units included."""
  if tiles <= units:
    return -(-units // (units // tiles))
  return -(-tiles // units) * units


def _up(size: int, multiple: int) -> int:
  return -(-size // multiple) * multiple


def tiled_flops_of(
    chip: Chip,
    rows: np.ndarray,
    inner: int,
    outer: int,
    matrices: np.ndarray,
) -> np.ndarray:
  """`tiled_flops` of many products at once, as floats."""
  if chip.compute_units is not None:
    units = chip.compute_units
    each = [
        _waves_of(units, matrices * -(-rows // height) * -(-outer // width))
        * height * width * 100 // speed
        for height, width, speed in _GPU_TILES
    ]
    return 2.0 * inner * np.min(each, axis=0)
  if chip.matrix_tile is not None:
    side = chip.matrix_tile
    rows = -(-rows // _SUBLANES) * _SUBLANES
    inner, outer = _up(inner, side), _up(outer, side)
  return 2.0 * inner * outer * matrices * rows


def _waves_of(units: int, tiles: np.ndarray) -> np.ndarray:
  few = -(-units // np.maximum(units // np.maximum(tiles, 1), 1))
  return np.where(tiles <= units, few, -(-tiles // units) * units)
