"""What a step takes, from first principles: any model, any chip, no profile.

Each operator group (attention projections, attention over the context, mlp,
unembedding) takes the longer of its arithmetic and its memory traffic, T =
max(T_math, T_hbm); groups, collectives T_comms and overheads add up, since
each needs the one before it. The roofline is that of Williams et al. (CACM
2009) in the terms of "How to scale your model" (Austin et al., 2025).

  T_math   operations / (tp * peak FLOP/s * efficiency)
  T_hbm    bytes / (tp * bandwidth * efficiency)
  T_comms  two ring all-reduces of [T, D] a layer: 2 (tp - 1) hops, and
           2 (tp - 1) / tp of the bytes, over each chip's link; the logits are
           gathered once; pp - 1 times [T, D] goes on to the next stage

With pp stages a step passes through all of them, so its latency is the sum of
the stages and the hops between them: layers on more chips take no less time.
A worker with one step in flight leaves each stage idle (pp - 1) / pp of the
time, the bubble; pp steps in flight (lanes) would fill it.

Every price is an integer number of picoseconds, and decodes grow by an integer
a token, so a run of steps is a few straight lines, equal to step by step.
"""

import dataclasses
import functools

from pdjax.memory import DTYPE_BYTES
from pdjax.models.spec import ModelSpec
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.chips import Chip
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.work import Operators, Work

PS_PER_S = 10**12
_CACHED_SHAPES = 2**16


class AnalyticalCost:
  """Prices the steps and page copies of one worker. A `StepCost`."""

  def __init__(
      self,
      spec: ModelSpec,
      chip: Chip,
      *,
      dtype: str = "bfloat16",
      tp: int = 1,
      pp: int = 1,
      scalars: Scalars | None = None,
  ):
    """Prices `spec` on `tp * pp` chips.

    Raises:
      ConfigError: the chip lacks a figure that is needed.
    """
    self.spec, self.chip, self.tp, self.pp = spec, chip, tp, pp
    self.scalars = scalars = scalars or Scalars()
    self._dtype_bytes = DTYPE_BYTES[dtype]
    self.operators = Operators(spec, self._dtype_bytes, tp)
    self.peak_flops = tp * chip.flops(dtype)
    """Of the chips that work at one time: a stage's."""
    self.peak_bytes_per_s = tp * chip.figure("hbm_bytes_per_s")
    self._matmul = _share(self.peak_flops, scalars.matmul_efficiency)
    self._attention = _share(self.peak_flops, scalars.attention_efficiency)
    self._hbm = _share(self.peak_bytes_per_s, scalars.hbm_efficiency)
    alone = tp * pp == 1
    self._link = 1 if alone else _share(
        chip.peer_bytes_per_s, scalars.link_efficiency
    )
    attended = self.operators.context_token()
    self._context_math_ps = _ps(attended.flops, self._attention)
    self._context_hbm_ps = _ps(attended.bytes, self._hbm)
    remembered = functools.lru_cache(_CACHED_SHAPES)
    self._fixed_ps = remembered(self._price_fixed)
    self._decode_ps = remembered(self._price_decode)

  @property
  def provenance(self) -> dict[str, str | float | int]:
    """What these prices rest on; JSON-able."""
    return {
        "kind": "analytical",
        "accuracy": "uncalibrated, +-20 % on compute, bandwidth and overhead",
        "model": self.spec.name,
        "chip": self.chip.name,
        "chip_source": self.chip.source,
        "tp": self.tp,
        "pp": self.pp,
        **dataclasses.asdict(self.scalars),
    }

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; see `StepCost.step`."""
    seqs = shape.decode_seqs
    if not shape.prefill:
      base_ps, math_ps, hbm_ps = self._decode_ps(seqs)
      context_tokens = shape.decode_context_tokens
      math_step_ps, hbm_step_ps = self._context_math_ps, self._context_hbm_ps
      return _upper(
          (
              base_ps + math_ps + context_tokens * math_step_ps,
              seqs * math_step_ps,
          ),
          (base_ps + hbm_ps + context_tokens * hbm_step_ps, seqs * hbm_step_ps),
          shape.repeats,
      )
    if shape.repeats != 1:
      raise ValueError(f"{shape.repeats=} must be 1 with prefill")
    tokens = seqs + sum(chunk for chunk, _ in shape.prefill)
    total_ps = self._fixed_ps(tokens, seqs + len(shape.prefill))
    for chunk_tokens, context_tokens in shape.prefill:
      work = self.operators.prefill_attention(chunk_tokens, context_tokens)
      total_ps += self._group_ps(work, self._attention)
    if seqs:
      total_ps += self._decode_attention_ps(seqs, shape.decode_context_tokens)
    return (Segment(1, total_ps),)

  def work(self, shape: StepShape) -> tuple[int, int]:
    """(operations, bytes) of all the shape's passes on all chips."""
    ops, seqs, repeats = self.operators, shape.decode_seqs, shape.repeats
    tokens = seqs + sum(chunk for chunk, _ in shape.prefill)
    rows = seqs + len(shape.prefill)
    each = ops.projections(tokens).plus(ops.mlp(tokens))
    each = each.plus(ops.unembedding(rows))
    for chunk_tokens, context_tokens in shape.prefill:
      each = each.plus(ops.prefill_attention(chunk_tokens, context_tokens))
    each = each.plus(ops.decode_attention(seqs, shape.decode_context_tokens))
    growth = ops.context_token().times(seqs * (repeats * (repeats - 1) // 2))
    total = each.times(repeats).plus(growth)
    return total.flops, total.bytes

  def transfer_bytes(self, tokens: int) -> int:
    """Of `tokens` cached tokens on the way; replicated heads go once."""
    return tokens * self.spec.kv_bytes_per_token(self._dtype_bytes)

  def gather_ps(self, size_bytes: int) -> int:
    """Time of the worker to copy pages into a staging buffer."""
    return self._copy_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    """Time of the worker to copy a staging buffer into pages."""
    return self._copy_ps(size_bytes)

  def _copy_ps(self, size_bytes: int) -> int:
    """Read and written once; each stage copies its own layers."""
    overhead_ps = _seconds(self.scalars.copy_overhead_s)
    return overhead_ps + _ps(2 * size_bytes, self.pp * self._hbm)

  def _price_fixed(self, tokens: int, rows: int) -> int:
    """All but attention over the context, of `tokens` with `rows` logits."""
    ops, scalars = self.operators, self.scalars
    groups = (ops.projections(tokens), ops.mlp(tokens), ops.unembedding(rows))
    busy_ps = sum(self._group_ps(group, self._matmul) for group in groups)
    overhead_ps = _seconds(scalars.step_overhead_s)
    overhead_ps += rows * _seconds(scalars.request_overhead_s)
    return busy_ps + self._comms_ps(tokens, rows) + overhead_ps

  def _price_decode(self, seqs: int) -> tuple[int, int, int]:
    """(all but attention, attention's fixed T_math, its fixed T_hbm)."""
    fixed = self.operators.decode_attention(seqs, 0)
    return (
        self._fixed_ps(seqs, seqs),
        _ps(fixed.flops, self._attention),
        _ps(fixed.bytes, self._hbm),
    )

  def _decode_attention_ps(self, seqs: int, context_tokens: int) -> int:
    _, math_ps, hbm_ps = self._decode_ps(seqs)
    return max(
        math_ps + context_tokens * self._context_math_ps,
        hbm_ps + context_tokens * self._context_hbm_ps,
    )

  def _group_ps(self, work: Work, flops_per_s: int) -> int:
    return max(_ps(work.flops, flops_per_s), _ps(work.bytes, self._hbm))

  def _comms_ps(self, tokens: int, rows: int) -> int:
    """T_comms: all-reduces, the gather of logits, hops between stages."""
    spec, tp = self.spec, self.tp
    hop_ps = _seconds(self.scalars.hop_latency_s)
    row_bytes = spec.hidden_size * self._dtype_bytes
    hops, sent_bytes = self.pp - 1, (self.pp - 1) * tokens * row_bytes
    if tp > 1:
      reduces = 2 * spec.num_layers
      hops += reduces * 2 * (tp - 1) + (tp - 1)
      reduced = reduces * 2 * (tp - 1) * tokens * row_bytes // tp
      logits = (tp - 1) * rows * spec.vocab_size * self._dtype_bytes // tp
      sent_bytes += reduced + logits
    return hops * hop_ps + _ps(sent_bytes, self._link)


def _upper(
    one: tuple[int, int], other: tuple[int, int], steps: int
) -> tuple[Segment, ...]:
  """The larger of two lines (first, slope) at steps 0, 1, ... `steps` - 1.

  >>> for segment in _upper((10, 1), (8, 2), 5):
  ...   print(segment)
  Segment(steps=2, first_ps=10, slope_ps=1)
  Segment(steps=3, first_ps=12, slope_ps=2)
  """
  # Larger first; on a tie the steeper, which stays the larger.
  (first_ps, slope_ps), (low_ps, steep_ps) = max(one, other), min(one, other)
  if steep_ps <= slope_ps:
    return (Segment(steps, first_ps, slope_ps),)
  # The steeper line is at least as high from step `turn` on.
  turn = -((low_ps - first_ps) // (steep_ps - slope_ps))
  if turn >= steps:
    return (Segment(steps, first_ps, slope_ps),)
  return (
      Segment(turn, first_ps, slope_ps),
      Segment(steps - turn, low_ps + turn * steep_ps, steep_ps),
  )


def _ps(amount: int, rate_per_s: int) -> int:
  """Time of an amount at a rate, rounded up."""
  return -(-amount * PS_PER_S // rate_per_s)


def _seconds(seconds: float) -> int:
  return round(seconds * PS_PER_S)


def _share(rate_per_s: int, efficiency: float) -> int:
  return round(rate_per_s * efficiency)
