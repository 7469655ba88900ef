"""What the kernels of a pass take on their chips, by operator group.

Each matrix product, and attention, takes the longer of its arithmetic and its
memory traffic, T = max(T_math, T_hbm); kernels, collectives T_comms and the
gaps between them add up, since each needs the one before it.

  T_math   operations, tiles rounded up / (chips * peak FLOP/s * efficiency)
  T_hbm    bytes / (chips * bandwidth * efficiency)
  T_comms  two all-reduces of [T, D] a layer over tp chips, or, where experts
           are dealt over data-parallel groups, one and two all-to-alls; the
           logits are gathered once; [T, D] goes on to the next stage
  gaps     a latency for each kernel

Times are whole picoseconds of a step: of all its microbatches through all
stages. With pp stages and m microbatches that is m + pp - 1 stage times, so
with one microbatch layers on more chips take no less time (GPipe, arXiv
1811.06965). A step of fewer tokens has fewer microbatches. A sequence is one
data-parallel group's; a step waits for the fullest, with the longest chunk.
"""

import functools

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.spec import ModelSpec
from pdjax.simulate.chip import Chip
from pdjax.simulate.collectives import Fabric
from pdjax.simulate.products import Product
from pdjax.simulate.rates import ps_at, ps_of, share
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.tiles import tiled_flops
from pdjax.simulate.work import ATTENTION_KERNELS, Operators, Work

CACHED_SHAPES = 2**16


class Kernels:
  """Prices the kernels of one worker."""

  def __init__(
      self,
      spec: ModelSpec,
      chip: Chip,
      dtypes: Dtypes,
      layout: Layout,
      scalars: Scalars,
  ):
    """Raises ConfigError where the chip lacks a figure that is needed."""
    self.operators = Operators(spec, dtypes, layout)
    self._spec, self._chip = spec, chip
    self._dtypes, self._layout, self._scalars = dtypes, layout, scalars
    self._fabric = Fabric(chip, scalars)
    self._matmul = {
        dtype: share(chip.flops(dtype), scalars.matmul_efficiency)
        for dtype in dict.fromkeys((dtypes.product, dtypes.activation))
    }
    chips = layout.stage_chips
    peak = chips * chip.flops(dtypes.activation)
    bandwidth = chip.figure("hbm_bytes_per_s")
    self._attention = share(peak, scalars.attention_efficiency)
    self._hbm = share(bandwidth, scalars.hbm_efficiency)
    self.kv_bytes_per_s = share(chips * bandwidth, scalars.kv_efficiency)
    """Of the cache, by the chips of one stage."""
    self._product_ps = functools.lru_cache(CACHED_SHAPES)(self._price_product)
    self.parts(1, 1)  # asks for every figure that any pass will ask for

  def parts(
      self, tokens: int, rows: int, longest: int = 1
  ) -> dict[str, int]:
    """All but attention, of `tokens` with logits for `rows`; the `longest`
    chunk of them is of one sequence."""
    layout, ops = self._layout, self.operators
    batches = layout.parts(tokens)
    tokens, rows, longest = (
        -(-count // batches) for count in (tokens, rows, longest)
    )
    mine = layout.fullest(tokens, longest)
    my_rows = layout.fullest(rows, 1)
    parts: dict[str, int] = {}
    for product in ops.products:
      price_ps = max(self._product_ps(product, tokens, mine))
      parts[product.group] = parts.get(product.group, 0) + price_ps
    last = self._product_ps(ops.unembedding, rows, my_rows)
    parts |= {
        "unembedding": max(last),
        "elementwise": ps_at(mine * ops.elementwise_bytes, self._hbm),
        "sampling": ps_at(my_rows * ops.sampling_bytes, self._hbm),
        "gaps": ops.kernels * ps_of(self._scalars.kernel_latency_s),
        "collectives": self._collectives_ps(tokens, mine, my_rows),
        "stage hops": self._stage_hops_ps(mine),
    }
    return {
        name: self.in_stages(part, batches) for name, part in parts.items()
    }

  def layer_ps(self, tokens: int) -> int:
    """Of one layer of one chip, all but attention's and collectives."""
    parts = self.parts(tokens, 0)
    for name in ("unembedding", "sampling", "collectives", "stage hops"):
      del parts[name]
    gap_ps = ps_of(self._scalars.kernel_latency_s)
    attention_ps = self.in_stages(
        ATTENTION_KERNELS * gap_ps, self._layout.parts(tokens)
    )
    return sum(parts.values()) // self._spec.num_layers - attention_ps

  def in_stages(self, part_ps: int, batches: int) -> int:
    """What a microbatch's time in all stages makes of the step's, which has
    so many of them."""
    passes = batches + self._layout.pp - 1
    return -(-part_ps * passes // self._layout.pp)

  def attention_ps(self, work: Work, batches: int) -> tuple[int, int]:
    """T_math and T_hbm of a step's attention, shared out evenly."""
    return (
        self.in_stages(ps_at(work.flops, batches * self._attention), batches),
        self.in_stages(
            ps_at(work.bytes, batches * self.kv_bytes_per_s), batches
        ),
    )

  def context_token_ps(self, seqs: int, batches: int) -> tuple[int, int]:
    """T_math and T_hbm of one more position that one of `seqs` decodes
    attends to, sequences being equally long."""
    layout, attended = self._layout, self.operators.context_token()
    passes = batches + layout.pp - 1
    most = layout.dp * layout.fullest(seqs, 1)  # of the fullest group, times dp
    parts = batches * layout.pp * seqs
    return (
        ps_at(attended.flops * passes * most, parts * self._attention),
        ps_at(attended.bytes * passes * most, parts * self.kv_bytes_per_s),
    )

  def _price_product(
      self, product: Product, tokens: int, mine: int
  ) -> tuple[int, int]:
    """T_math and T_hbm of one microbatch; `mine` of its tokens are in the
    fullest group."""
    if not tokens:
      return 0, 0
    matrices, rows = 1, mine
    if product.experts is not None:
      matrices, rows = product.load(tokens, self._layout)
    flops = tiled_flops(
        self._chip, rows, product.inner, product.outer, matrices
    )
    return (
        ps_at(product.count * flops, self._matmul[product.dtype]),
        ps_at(product.bytes(matrices, rows), self._hbm),
    )

  def _collectives_ps(self, tokens: int, mine: int, my_rows: int) -> int:
    """T_comms within stages, of one microbatch through all of them."""
    spec, layout, fabric = self._spec, self._layout, self._fabric
    value_bytes = self._dtypes.activation_bytes
    hidden_bytes = mine * spec.hidden_size * value_bytes
    reduces, dealing_ps = 2 * spec.num_layers, 0
    if spec.experts is not None and layout.dp > 1:
      mixed = spec.num_layers - spec.experts.dense_layers
      reduces -= mixed
      dealing_ps = mixed * self._dealing_ps(tokens)
    logit_bytes = my_rows * spec.vocab_size * value_bytes
    gather_ps = fabric.all_gather_ps(logit_bytes, layout.tp) if my_rows else 0
    reduce_ps = fabric.all_reduce_ps(hidden_bytes, layout.tp)
    return dealing_ps + reduces * reduce_ps + gather_ps

  def _dealing_ps(self, tokens: int) -> int:
    """Tokens to their experts' chips and back, then each expert's sum."""
    layout, fabric = self._layout, self._fabric
    assert self._spec.experts is not None
    row_bytes = self._spec.hidden_size * self._dtypes.activation_bytes
    copies = min(self._spec.experts.per_token, layout.ep)
    sent_bytes = tokens * copies * row_bytes
    there_ps = fabric.all_to_all_ps(
        -(-sent_bytes // layout.stage_chips), layout.ep
    )
    summed_ps = fabric.all_reduce_ps(
        -(-sent_bytes // layout.ep), layout.expert_chips
    )
    return 2 * there_ps + summed_ps

  def _stage_hops_ps(self, mine: int) -> int:
    layout = self._layout
    if layout.pp == 1:
      return 0
    row_bytes = self._spec.hidden_size * self._dtypes.activation_bytes
    hop_ps = self._fabric.send_ps(
        mine * row_bytes, layout.stage_chips
    )
    return (layout.pp - 1) * hop_ps

