"""Operations and bytes that runs of steps need, all runs of a log at once.

What `pdjax.simulate.stepwork.step_work` counts for one step, and equal to it:
of the model, nothing that chips repeat counts twice. Coefficients are asked of
`Operators`; only the sums over positions are formed here.

Units: `_flops` operations, `_bytes` bytes, as floats, since a run of a large
model exceeds 64-bit integers.
"""

import dataclasses

import numpy as np

from pdjax.metrics.shapes import Shapes
from pdjax.simulate.work import Operators


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Works:
  """Of each run, all its steps together."""

  flops: np.ndarray
  bytes: np.ndarray


def works(operators: Operators, shapes: Shapes) -> Works:
  """Operations and bytes of each run.

  Args:
    operators: of the model on one chip, so that nothing is repeated.
    shapes: what the runs computed.
  """
  flops, size_bytes = _products(operators, shapes)
  chunk_flops, chunk_bytes = _prefill_attention(operators, shapes)
  seqs, positions = shapes.seqs * shapes.steps, _attended(operators, shapes)
  each, position = operators.decode_attention(1, 0), operators.context_token()
  return Works(
      flops + chunk_flops + seqs * each.flops + positions * position.flops,
      size_bytes + chunk_bytes + seqs * each.bytes + positions * position.bytes,
  )


def attention_flops(operators: Operators, shapes: Shapes) -> np.ndarray:
  """Of each run, its attention alone."""
  flops, _ = _prefill_attention(operators, shapes)
  return flops + _attended(operators, shapes) * operators.context_token().flops


def _products(
    operators: Operators, shapes: Shapes
) -> tuple[np.ndarray, np.ndarray]:
  """Of matrix products: straight in rows, and in tokens unless there are
  experts, of which more tokens use more."""
  one, more_rows = (operators.products_work(1, rows) for rows in (1, 2))
  tokens, where = np.unique(shapes.tokens, return_inverse=True)
  if operators.spec.experts is None:
    two = operators.products_work(2, 1)
    of_tokens = [
        (first + (tokens - 1) * (second - first))[where]
        for first, second in zip(map(float, one), two, strict=True)
    ]
  else:
    each = [operators.products_work(count, 1) for count in tokens.tolist()]
    of_tokens = np.array(each, float).reshape(-1, 2).T[:, where]
  flops, size_bytes = (
      shapes.steps * (amount + (shapes.rows - 1) * float(second - first))
      for amount, first, second in zip(of_tokens, one, more_rows, strict=True)
  )
  return flops, size_bytes


def _prefill_attention(
    operators: Operators, shapes: Shapes
) -> tuple[np.ndarray, np.ndarray]:
  chunks, kv_bytes = shapes.chunks, operators.kv_bytes
  alone = operators.prefill_attention(1, 0)
  # A second position: one pair more, and the expansion of a latent row.
  pair_flops = float(alone.flops)
  window = operators.spec.sliding_window
  expansion_flops = float(operators.prefill_attention(1, 1).flops)
  expansion_flops -= (2 if window is None or window > 1 else 1) * pair_flops
  query_bytes = float(alone.bytes - 2 * kv_bytes)
  tokens = chunks.tokens.astype(float)
  seen = context = chunks.context_tokens.astype(float)
  if window is not None:
    seen = np.minimum(seen, max(0, window - 1))
  flops = _pairs(tokens, context, window) * pair_flops
  flops += context * expansion_flops
  size_bytes = (2 * tokens + seen) * kv_bytes + tokens * query_bytes
  size = len(shapes)
  return (
      np.bincount(chunks.run, flops, size),
      np.bincount(chunks.run, size_bytes, size),
  )


def _pairs(
    tokens: np.ndarray, context: np.ndarray, window: int | None
) -> np.ndarray:
  """Pairs of a chunk's token and a position it attends to."""
  if window is None:
    return tokens * context + tokens * (tokens + 1) / 2
  short = np.clip(window - context, 0, tokens)
  within = short * context + short * (short + 1) / 2
  return within + (tokens - short) * window


def _attended(operators: Operators, shapes: Shapes) -> np.ndarray:
  """Positions that the decodes of each run attend to, summed over steps."""
  decodes, window = shapes.decodes, operators.spec.sliding_window
  steps = shapes.steps[decodes.run].astype(float)
  context = decodes.context_tokens.astype(float)
  growing = steps
  if window is not None:
    growing = np.clip(window - context, 0, steps)
  total = growing * context + growing * (growing - 1) / 2
  if window is not None:
    total += (steps - growing) * window
  return np.bincount(decodes.run, total, len(shapes))
