"""What a step takes, from first principles: any model, any chip, no profile.

Each matrix product, and attention, takes the longer of its arithmetic and its
memory traffic, T = max(T_math, T_hbm); kernels, collectives T_comms and
overheads add up, since each needs the one before it. The roofline is that of
Williams et al. (CACM 2009) in the terms of "How to scale your model" (Austin
et al., 2025).

  T_math   operations, tiles rounded up / (chips * peak FLOP/s * efficiency)
  T_hbm    bytes / (chips * bandwidth * efficiency)
  T_comms  two all-reduces of [T, D] a layer over tp chips, or, where experts
           are dealt over data-parallel groups, one and two all-to-alls; the
           logits are gathered once; [T, D] goes on to the next stage
  gaps     a latency for each kernel
  launch   while the host cannot launch kernels as fast as they run, its
           launches are the step's time instead of all the above
  host     overheads of the step, of its requests and of its prompt chunks

With pp stages and m microbatches a step passes through m + pp - 1 stage times:
with one, through all stages in turn, so layers on more chips take no less time
and each stage idles (pp - 1) / pp of it, the bubble (GPipe, arXiv 1811.06965).

Every price is an integer number of picoseconds, and decodes grow by an integer
a token, so a run of steps is a few straight lines, equal to step by step.
"""

import dataclasses
import functools

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.spec import ModelSpec
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.attended import Piece, attended
from pdjax.simulate.chip import Chip
from pdjax.simulate.collectives import PS_PER_S, Fabric
from pdjax.simulate.products import Product
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.stepwork import step_work
from pdjax.simulate.tiles import tiled_flops
from pdjax.simulate.work import ATTENTION_KERNELS, Operators, Work

_CACHED_SHAPES = 2**16


class AnalyticalCost:
  """Prices the steps and page copies of one worker. A `StepCost`."""

  def __init__(
      self,
      spec: ModelSpec,
      chip: Chip,
      *,
      dtypes: Dtypes | None = None,
      layout: Layout | None = None,
      scalars: Scalars | None = None,
  ):
    """Prices `spec` on the chips of `layout`.

    Raises:
      ConfigError: the chip lacks a figure that is needed.
    """
    self.spec, self.chip = spec, chip
    self.dtypes, self.layout = dtypes or Dtypes(), layout or Layout()
    self.scalars = scalars = scalars or Scalars()
    self.operators = Operators(spec, self.dtypes, self.layout)
    self._model = Operators(spec, self.dtypes)
    self._fabric = Fabric(chip, scalars)
    formats = dict.fromkeys((self.dtypes.product, self.dtypes.activation))
    self._matmul = {
        dtype: _share(chip.flops(dtype), scalars.matmul_efficiency)
        for dtype in formats
    }
    chips = self.layout.stage_chips
    peak = chips * chip.flops(self.dtypes.activation)
    bandwidth = chip.figure("hbm_bytes_per_s")
    self._attention = _share(peak, scalars.attention_efficiency)
    self._hbm = _share(bandwidth, scalars.hbm_efficiency)
    self._kv = _share(chips * bandwidth, scalars.kv_efficiency)
    self._context_math_ps, self._context_hbm_ps = self._context_token_ps()
    remembered = functools.lru_cache(_CACHED_SHAPES)
    self._fixed_ps = remembered(self._price_fixed)
    self._decode_ps = remembered(self._price_decode)

  @property
  def peak_flops(self) -> int:
    """Of all chips, in the format of the layers' products."""
    return self.layout.chips * self.chip.flops(self.dtypes.product)

  @property
  def peak_bytes_per_s(self) -> int:
    """Of all chips."""
    return self.layout.chips * self.chip.figure("hbm_bytes_per_s")

  @property
  def provenance(self) -> dict[str, str | float | int]:
    """What these prices rest on; JSON-able."""
    return {
        "kind": "analytical",
        "accuracy": "uncalibrated, +-20 % on compute, bandwidth and overhead",
        "model": self.spec.name,
        "chip": self.chip.name,
        "chip_source": self.chip.source,
        **dataclasses.asdict(self.layout),
        **{
            f"{part}_dtype": dtype
            for part, dtype in dataclasses.asdict(self.dtypes).items()
        },
        **dataclasses.asdict(self.scalars),
    }

  # Steps. --------------------------------------------------------------------

  def step(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; see `StepCost.step`."""
    if not shape.prefill:
      pieces = attended(shape, self.spec.sliding_window)
      return tuple(
          segment
          for piece in pieces
          for segment in self._decode_run(shape.decode_seqs, piece)
      )
    if shape.repeats != 1:
      raise ValueError(f"{shape.repeats=} must be 1 with prefill")
    host_ps, launch_ps, *parts_ps = self._mixed_ps(shape)
    return (Segment(1, host_ps + max(launch_ps, sum(parts_ps))),)

  def parts(self, shape: StepShape) -> dict[str, int]:
    """Picoseconds of one pass by what they are spent on.

    `launch` is what launching takes beyond the kernels; the rest adds up to
    what they take. The sum is the pass' time.
    """
    host_ps, launch_ps, _, prefill_ps, decode_ps = self._mixed_ps(shape)
    tokens, rows = _tokens(shape), _rows(shape)
    parts = {
        **self._fixed_parts(tokens, rows),
        "prefill attention": prefill_ps,
        "decode attention": decode_ps,
    }
    waits_ps = max(0, launch_ps - sum(parts.values()))
    return parts | {"launch": waits_ps, "host": host_ps}

  def layer_ps(self, tokens: int) -> int:
    """Kernels of one layer of one chip but attention's and collectives."""
    parts = self._fixed_parts(tokens, 0)
    for name in ("unembedding", "collectives", "stage hops"):
      del parts[name]
    gap_ps = _seconds(self.scalars.kernel_latency_s)
    attention_ps = self._in_stages(ATTENTION_KERNELS * gap_ps)
    return sum(parts.values()) // self.spec.num_layers - attention_ps

  def _mixed_ps(self, shape: StepShape) -> tuple[int, int, int, int, int]:
    """(host, launches, all but attention, prefill's, decodes' attention)."""
    tokens, rows = _tokens(shape), _rows(shape)
    host_ps, launch_ps, fixed_ps = self._fixed_ps(tokens, rows)
    host_ps += len(shape.prefill) * _seconds(self.scalars.chunk_overhead_s)
    prefill_ps = sum(
        self._prefill_attention_ps(*chunk) for chunk in shape.prefill
    )
    decode_ps = 0
    if shape.decode_seqs:
      _, _, _, math_ps, hbm_ps = self._decode_ps(shape.decode_seqs)
      (piece, *_) = attended(shape, self.spec.sliding_window)
      decode_ps = max(
          math_ps + piece.context_tokens * self._context_math_ps,
          hbm_ps + piece.context_tokens * self._context_hbm_ps,
      )
    return host_ps, launch_ps, fixed_ps, prefill_ps, decode_ps

  def _decode_run(self, seqs: int, piece: Piece) -> tuple[Segment, ...]:
    host_ps, launch_ps, fixed_ps, math_ps, hbm_ps = self._decode_ps(seqs)
    base_ps = host_ps + fixed_ps
    context, growth = piece.context_tokens, piece.growth
    math_step_ps, hbm_step_ps = self._context_math_ps, self._context_hbm_ps
    lines = (
        (base_ps + math_ps + context * math_step_ps, growth * math_step_ps),
        (base_ps + hbm_ps + context * hbm_step_ps, growth * hbm_step_ps),
        (host_ps + launch_ps, 0),
    )
    return _upper(lines, piece.steps)

  # Work. ---------------------------------------------------------------------

  def work(self, shape: StepShape) -> Work:
    """(operations, bytes) that all the shape's passes need.

    Of the model, not of the layout: nothing that chips repeat counts twice.
    """
    return step_work(self._model, shape)

  # Copies of pages. ----------------------------------------------------------

  def transfer_bytes(self, tokens: int) -> int:
    """Of `tokens` cached tokens on the way; replicated heads go once."""
    return tokens * self.spec.kv_bytes_per_token(self.dtypes.kv_bytes)

  def gather_ps(self, size_bytes: int) -> int:
    """Time of the worker to copy pages into a staging buffer."""
    return self._copy_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    """Time of the worker to copy a staging buffer into pages."""
    return self._copy_ps(size_bytes)

  def _copy_ps(self, size_bytes: int) -> int:
    """Read and written once; each stage copies its own layers."""
    overhead_ps = _seconds(self.scalars.copy_overhead_s)
    return overhead_ps + _ps(2 * size_bytes, self.layout.pp * self._kv)

  # Prices. -------------------------------------------------------------------

  def _price_fixed(self, tokens: int, rows: int) -> tuple[int, int, int]:
    """(host, launches, kernels but attention) of a pass."""
    scalars, parts = self.scalars, self.layout.microbatches
    host_ps = _seconds(scalars.step_overhead_s)
    host_ps += rows * _seconds(scalars.request_overhead_s)
    host_ps += (parts - 1) * _seconds(scalars.microbatch_overhead_s)
    launch_ps = self.operators.kernels * _seconds(scalars.launch_s)
    fixed_ps = sum(self._fixed_parts(tokens, rows).values())
    return host_ps, self._in_stages(launch_ps), fixed_ps

  def _fixed_parts(self, tokens: int, rows: int) -> dict[str, int]:
    """Kernels but attention, by group, through all stages."""
    layout, ops = self.layout, self.operators
    part_tokens = -(-tokens // layout.microbatches)
    part_rows = -(-rows // layout.microbatches)
    parts: dict[str, int] = {}
    for product in ops.products:
      price_ps = self._product_ps(product, part_tokens)
      parts[product.group] = parts.get(product.group, 0) + price_ps
    moved = -(-part_tokens // layout.dp) * ops.elementwise_bytes
    parts |= {
        "unembedding": self._product_ps(ops.unembedding, part_rows),
        "elementwise": _ps(moved, self._hbm),
        "gaps": ops.kernels * _seconds(self.scalars.kernel_latency_s),
        "collectives": self._collectives_ps(part_tokens, part_rows),
        "stage hops": self._stage_hops_ps(part_tokens),
    }
    return {name: self._in_stages(part) for name, part in parts.items()}

  def _in_stages(self, part_ps: int) -> int:
    """What a microbatch's time in all stages makes of the step's.

    m + pp - 1 times the stage's, which is 1 / pp of it.
    """
    layout = self.layout
    passes = layout.microbatches + layout.pp - 1
    return -(-part_ps * passes // layout.pp)

  def _product_ps(self, product: Product, tokens: int) -> int:
    if not tokens:
      return 0
    matrices, rows = product.load(tokens, self.layout)
    inner, outer = product.inner, product.outer
    flops = tiled_flops(self.chip, rows, inner, outer, matrices)
    return max(
        _ps(product.count * flops, self._matmul[product.dtype]),
        _ps(product.bytes(matrices, rows), self._hbm),
    )

  def _prefill_attention_ps(self, tokens: int, context_tokens: int) -> int:
    work = self.operators.prefill_attention(tokens, context_tokens)
    return self._in_stages(self._spread_ps(work))

  def _spread_ps(self, work: Work) -> int:
    """Of attention, over the chips of a stage and the microbatches."""
    parts = self.layout.microbatches
    return max(
        _ps(work.flops, parts * self._attention),
        _ps(work.bytes, parts * self._kv),
    )

  def _context_token_ps(self) -> tuple[int, int]:
    """T_math and T_hbm of one more attended position."""
    layout, attended = self.layout, self.operators.context_token()
    passes = layout.microbatches + layout.pp - 1
    share = layout.microbatches * layout.pp
    return (
        _ps(attended.flops * passes, share * self._attention),
        _ps(attended.bytes * passes, share * self._kv),
    )

  def _price_decode(self, seqs: int) -> tuple[int, int, int, int, int]:
    """(host, launches, kernels but attention, attention's fixed T_math, its
    fixed T_hbm)."""
    fixed = self.operators.decode_attention(seqs, 0)
    parts = self.layout.microbatches
    return (
        *self._fixed_ps(seqs, seqs),
        self._in_stages(_ps(fixed.flops, parts * self._attention)),
        self._in_stages(_ps(fixed.bytes, parts * self._kv)),
    )

  def _collectives_ps(self, tokens: int, rows: int) -> int:
    """T_comms within stages, of one microbatch through all of them."""
    spec, layout, fabric = self.spec, self.layout, self._fabric
    value_bytes = self.dtypes.activation_bytes
    hidden_bytes = -(-tokens // layout.dp) * spec.hidden_size * value_bytes
    reduce_ps = fabric.all_reduce_ps(hidden_bytes, layout.tp)
    reduces = 2 * spec.num_layers
    total_ps = 0
    if spec.experts is not None and layout.dp > 1:
      mixed = spec.num_layers - spec.experts.dense_layers
      reduces -= mixed
      total_ps += mixed * self._dealing_ps(tokens)
    logit_bytes = -(-rows // layout.dp) * spec.vocab_size * value_bytes
    gather_ps = fabric.all_gather_ps(logit_bytes, layout.tp) if rows else 0
    return total_ps + reduces * reduce_ps + gather_ps

  def _dealing_ps(self, tokens: int) -> int:
    """Tokens to their experts' chips and back, then each expert's sum."""
    spec, layout, fabric = self.spec, self.layout, self._fabric
    assert spec.experts is not None
    hidden = spec.hidden_size * self.dtypes.activation_bytes
    copies = min(spec.experts.per_token, layout.ep)
    sent_bytes = -(-tokens * copies * hidden // layout.stage_chips)
    there_and_back_ps = 2 * fabric.all_to_all_ps(sent_bytes, layout.ep)
    return there_and_back_ps + fabric.all_reduce_ps(
        -(-tokens * copies * hidden // layout.ep), layout.expert_chips
    )

  def _stage_hops_ps(self, tokens: int) -> int:
    layout = self.layout
    if layout.pp == 1:
      return 0
    value_bytes = self.dtypes.activation_bytes
    hidden_bytes = (
        -(-tokens // layout.dp) * self.spec.hidden_size * value_bytes
    )
    hop_ps = self._fabric.send_ps(hidden_bytes, layout.stage_chips)
    return (layout.pp - 1) * hop_ps


def _tokens(shape: StepShape) -> int:
  return shape.decode_seqs + sum(tokens for tokens, _ in shape.prefill)


def _rows(shape: StepShape) -> int:
  return shape.decode_seqs + len(shape.prefill)


def _upper(
    lines: tuple[tuple[int, int], ...], steps: int
) -> tuple[Segment, ...]:
  """The largest of several lines (first, slope) at steps 0, 1, ... `steps` - 1.

  >>> for segment in _upper(((10, 1), (8, 2), (0, 0)), 5):
  ...   print(segment)
  Segment(steps=2, first_ps=10, slope_ps=1)
  Segment(steps=3, first_ps=12, slope_ps=2)
  """
  segments, at = [], 0
  while at < steps:
    # Largest here; on a tie the steepest, which stays the largest.
    now_ps, slope = max((first + at * slope, slope) for first, slope in lines)
    turns = (
        at - (first + at * steep - now_ps) // (steep - slope)
        for first, steep in lines
        if steep > slope
    )
    until = min([steps, *turns])
    segments.append(Segment(until - at, now_ps, slope))
    at = until
  return tuple(segments)


def _ps(amount: int, rate_per_s: int) -> int:
  """Time of an amount at a rate, rounded up."""
  return -(-amount * PS_PER_S // rate_per_s)


def _seconds(seconds: float) -> int:
  return round(seconds * PS_PER_S)


def _share(rate_per_s: int, efficiency: float) -> int:
  return round(rate_per_s * efficiency)
