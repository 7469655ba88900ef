"""Operations and bytes that a step needs, on whatever it runs.

Of the model, not of a layout: nothing that chips repeat counts twice. So the
same figures hold for simulated and for real steps.
"""

from pdjax.schedule.cost import StepShape
from pdjax.simulate.attended import attended
from pdjax.simulate.work import Operators, Work


def step_work(operators: Operators, shape: StepShape) -> Work:
  """Of all passes of the shape."""
  seqs = shape.decode_seqs
  each = operators.products_work(shape.tokens, shape.rows)
  for chunk in shape.prefill:
    each = each.plus(operators.prefill_attention(*chunk))
  each = each.plus(operators.decode_attention(seqs, 0))
  pieces = attended(shape, operators.spec.sliding_window) if seqs else ()
  positions = sum(piece.total for piece in pieces)
  return each.times(shape.repeats).plus(
      operators.context_token().times(positions)
  )
