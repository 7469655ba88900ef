"""T_math: how long the arithmetic of steps keeps chips busy at their peak.

What the chips compute, not what the model needs: tiles are rounded up, heads
and latent projections that chips repeat count on each, microbatches round each
by itself. At the data sheet's peak, with no efficiency taken off, so the same
for simulated and measured steps. Padding to buckets is in no log and not here.
"""

import numpy as np

from pdjax.metrics.shapes import Shapes
from pdjax.simulate.chip import Chip
from pdjax.simulate.products import Product
from pdjax.simulate.tiles import tiled_flops_of
from pdjax.simulate.work import Operators
from pdjax.utilisation.work import attention_flops


def math_s(operators: Operators, chip: Chip, shapes: Shapes) -> np.ndarray:
  """Seconds of T_math of each run, all its steps together.

  Args:
    operators: of the model as laid out on the worker's chips.
    chip: each of them.
    shapes: what the runs computed.

  Raises:
    ConfigError: no source states a peak that is needed.
  """
  layout, peak = operators.layout, chip.flops(operators.dtypes.activation)
  batches = np.clip(shapes.tokens, 1, layout.microbatches)
  last = operators.unembedding
  seconds = _product_s(last, operators, chip, shapes.rows, batches)
  for product in operators.products:
    seconds += _product_s(product, operators, chip, shapes.tokens, batches)
  attention = attention_flops(operators, shapes) / (layout.chips * peak)
  return seconds * shapes.steps / layout.pp + attention


def _product_s(
    product: Product,
    operators: Operators,
    chip: Chip,
    passed: np.ndarray,
    batches: np.ndarray,
) -> np.ndarray:
  """Of one step in so many microbatches, on one chip of each stage, one stage
  after another."""
  layout = operators.layout
  counts, where = np.unique(-(-passed // batches), return_inverse=True)
  if product.experts is None:
    loads = np.ones_like(counts), -(-counts // layout.dp)
  else:
    each = [product.load(count, layout) for count in counts.tolist()]
    loads = np.array(each, np.int64).reshape(-1, 2).T
  matrices, rows = loads
  flops = tiled_flops_of(chip, rows, product.inner, product.outer, matrices)
  seconds = product.count * flops / chip.flops(product.dtype)
  return seconds[where] * batches
