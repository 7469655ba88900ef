"""What a step takes, from first principles: any model, any chip, no profile.

Kernels take what `pdjax.simulate.kernels` says; the roofline there is that of
Williams et al. (CACM 2009) in the terms of "How to scale your model" (Austin
et al., 2025). A step adds

  launch   while the host cannot launch kernels as fast as they run, its
           launches are the step's time instead of the kernels
  host     overheads of the step, of its requests, of its prompt chunks and of
           each microbatch beyond the first; what is done ahead is a floor too,
           since no step is shorter than preparing the next

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
from pdjax.simulate.attended import attended
from pdjax.simulate.chip import Chip
from pdjax.simulate.kernels import CACHED_SHAPES, Kernels
from pdjax.simulate.rates import ps_at, ps_of, upper
from pdjax.simulate.scalars import Scalars
from pdjax.simulate.stepwork import step_work
from pdjax.simulate.work import Operators, Work

UNCALIBRATED = (
    "scalars assumed, uncalibrated, +-20 % on compute, bandwidth and overhead"
)


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
      calibrated: str | None = None,
  ):
    """Prices `spec` on the chips of `layout`.

    `calibrated` says what the scalars were fitted to, and how well; None that
    they are assumptions. A figure that the chip lacks is missed by the first
    price that needs it, or by `required`.
    """
    self.spec, self.chip = spec, chip
    self.dtypes, self.layout = dtypes or Dtypes(), layout or Layout()
    self.scalars = scalars = scalars or Scalars()
    self._calibrated = calibrated
    self._model = Operators(spec, self.dtypes)
    remembered = functools.lru_cache(CACHED_SHAPES)
    self._fixed_ps = remembered(self._price_fixed)
    self._attention_ps = remembered(self._price_attention)
    self._prefill_ps = remembered(self._price_prefill)

  @functools.cached_property
  def kernels(self) -> Kernels:
    return Kernels(
        self.spec, self.chip, self.dtypes, self.layout, self.scalars
    )

  def required(self) -> "AnalyticalCost":
    """Itself, with every price there.

    Raises:
      ConfigError: the chip lacks a figure that is needed.
    """
    assert self.kernels
    return self

  def on(self, chip: Chip) -> "AnalyticalCost":
    """The same on other chips."""
    return AnalyticalCost(
        self.spec, chip, dtypes=self.dtypes, layout=self.layout,
        scalars=self.scalars, calibrated=self._calibrated,
    )

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
        "kind": "fitted" if self._calibrated else "analytical",
        "accuracy": self._calibrated or UNCALIBRATED,
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
      return self.decodes(shape, shape.decode_seqs)
    if shape.repeats != 1:
      raise ValueError(f"{shape.repeats=} must be 1 with prefill")
    return (Segment(1, self.one_pass_ps(shape, shape.tokens, shape.rows)),)

  def decodes(self, shape: StepShape, rows: int) -> tuple[Segment, ...]:
    """Of a shape without prompts whose passes have so many rows."""
    seqs, window = shape.decode_seqs, self.spec.sliding_window
    if window is None:
      return self._decode_run(
          rows, seqs, shape.repeats, shape.decode_context_tokens, seqs
      )
    return tuple(
        segment
        for piece in attended(shape, window)
        for segment in self._decode_run(rows, seqs, *piece)
    )

  def one_pass_ps(self, shape: StepShape, tokens: int, rows: int) -> int:
    """Of a pass over a shape that sends so many tokens through the layers, and
    has the logits of so many rows made."""
    host_ps, launch_ps, fixed_ps, prefill_ps, decode_ps = self._mixed_ps(
        shape, tokens, rows
    )
    kernels_ps = fixed_ps + prefill_ps + decode_ps
    return host_ps + max(launch_ps, kernels_ps)

  def parts(self, shape: StepShape) -> dict[str, int]:
    """Picoseconds of one pass by what they are spent on.

    `launch` is what launching, or preparing the next pass, takes beyond the
    kernels; the sum is the pass' time.
    """
    host_ps, launch_ps, _, prefill_ps, decode_ps = self._mixed_ps(
        shape, shape.tokens, shape.rows
    )
    parts = {
        **self.kernels.parts(shape.tokens, shape.rows, self._longest(shape)),
        "prefill attention": prefill_ps,
        "decode attention": decode_ps,
    }
    waits_ps = max(0, launch_ps - sum(parts.values()))
    return parts | {"launch": waits_ps, "host": host_ps}

  def _mixed_ps(
      self, shape: StepShape, tokens: int, rows: int
  ) -> tuple[int, int, int, int, int]:
    """(host, least else, all but attention, prefill's, decodes' attention)."""
    host_ps, launch_ps, fixed_ps = self._fixed_ps(
        tokens, rows, self._longest(shape), len(shape.prefill)
    )
    batches = self.layout.parts(tokens)
    chunks_ps = [self._prefill_ps(*chunk, batches) for chunk in shape.prefill]
    prefill_ps = sum(chunks_ps)
    if chunks_ps and self.layout.dp > 1:
      prefill_ps = max(prefill_ps, self.layout.dp * max(chunks_ps))
    decode_ps = 0
    if shape.decode_seqs:
      price = self._attention_ps(
          shape.decode_seqs, shape.decode_seqs, batches
      )
      math_ps, hbm_ps, math_token_ps, hbm_token_ps = price
      context, window = shape.decode_context_tokens, self.spec.sliding_window
      if window is not None:
        context = attended(shape, window)[0].context_tokens
      decode_ps = max(
          math_ps + context * math_token_ps, hbm_ps + context * hbm_token_ps
      )
    return host_ps, launch_ps, fixed_ps, prefill_ps, decode_ps

  def _longest(self, shape: StepShape) -> int:
    """Tokens of one sequence; where all are one group's it does not matter."""
    if self.layout.dp == 1:
      return 1
    return max([tokens for tokens, _ in shape.prefill], default=1)

  def _decode_run(
      self, rows: int, seqs: int, steps: int, context: int, growth: int
  ) -> tuple[Segment, ...]:
    """Of one piece: its rows, of which `seqs` are sequences, its steps,
    positions in the first, and more in each."""
    host_ps, launch_ps, fixed_ps = self._fixed_ps(rows, rows, 1, 0)
    math_ps, hbm_ps, math_token_ps, hbm_token_ps = self._attention_ps(
        seqs, rows, self.layout.parts(rows)
    )
    begin_ps = host_ps + fixed_ps
    lines = (
        (host_ps + launch_ps, 0),
        (begin_ps + math_ps + context * math_token_ps, growth * math_token_ps),
        (begin_ps + hbm_ps + context * hbm_token_ps, growth * hbm_token_ps),
    )
    return upper(lines, steps)

  def _price_prefill(
      self, tokens: int, context_tokens: int, batches: int
  ) -> int:
    """Attention of one chunk in a pass of so many microbatches."""
    work = self.kernels.operators.prefill_attention(tokens, context_tokens)
    return max(self.kernels.attention_ps(work, batches))

  def _price_fixed(
      self, tokens: int, rows: int, longest: int, chunks: int
  ) -> tuple[int, int, int]:
    """(host, least else, kernels but attention) of a pass.

    No step waits for what the host does ahead, but none takes less.
    """
    scalars, parts = self.scalars, self.layout.parts(tokens)
    host_ps = ps_of(scalars.step_overhead_s)
    host_ps += rows * ps_of(scalars.request_overhead_s)
    host_ps += chunks * ps_of(scalars.chunk_overhead_s)
    host_ps += (parts - 1) * ps_of(scalars.microbatch_overhead_s)
    ahead_ps = round(host_ps * scalars.host_overlap)
    launch_ps = self.kernels.operators.kernels * ps_of(scalars.launch_s)
    launch_ps = self.kernels.in_stages(launch_ps, parts)
    fixed_ps = sum(self.kernels.parts(tokens, rows, longest).values())
    return host_ps - ahead_ps, max(launch_ps, ahead_ps), fixed_ps

  def _price_attention(
      self, seqs: int, rows: int, batches: int
  ) -> tuple[int, int, int, int]:
    """Of decodes: (T_math, T_hbm) of all rows with nothing attended, and of a
    position of one of the sequences."""
    spread = self.layout.dp * self.layout.fullest(rows, 1)
    fixed = self.kernels.operators.decode_attention(spread, 0)
    return (
        *self.kernels.attention_ps(fixed, batches),
        *self.kernels.context_token_ps(seqs, batches),
    )

  # Work. ---------------------------------------------------------------------

  def work(self, shape: StepShape) -> Work:
    """Operations and bytes that all the shape's passes need."""
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
    rate = self.layout.pp * self.kernels.kv_bytes_per_s
    return ps_of(self.scalars.copy_overhead_s) + ps_at(2 * size_bytes, rate)
