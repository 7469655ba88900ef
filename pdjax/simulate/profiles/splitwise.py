"""Splitwise's measured prompt and token times as a cost model.

The table holds, by model and tensor-parallel degree, times of a prompt step by
prompt length and batch, and of a token step by batch and prompt length (Patel
et al., ISCA 2024). Between rows a step is priced on the straight line between
its neighbours, in prompt tokens together or in sequences; context adds what it
added at batch 1. A step with prompts and decodes is a prompt step of all its
tokens, as in the authors' own simulator. Beyond the last row prices go on along
the last line, and count as extrapolated, as do chunks after others.

Units: `_ms` milliseconds, `_ps` integer picoseconds.
"""

import bisect
import csv
import dataclasses
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.rates import PS_PER_MS

_PRESETS = {"llama2-70b": "llama-2-70b"}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Row:
  """One measurement."""

  model: str
  tp: int
  prompt_tokens: int
  batch: int
  output_tokens: int
  prompt_ms: float
  token_ms: float


def read(path: Path) -> list[Row]:
  """The table's rows, with the presets' names of models."""
  return [
      Row(
          model=_PRESETS.get(row["model"], row["model"]),
          tp=int(row["tensor_parallel"]),
          prompt_tokens=int(row["prompt_size"]),
          batch=int(row["batch_size"]),
          output_tokens=int(row["token_size"]),
          prompt_ms=float(row["prompt_time"]),
          token_ms=float(row["token_time"]),
      )
      for row in csv.DictReader(path.open())
  ]


@dataclasses.dataclass(frozen=True, slots=True)
class Curve:
  """Straight lines through measured points; exact integers in between."""

  at: tuple[int, ...]
  ps: tuple[int, ...]

  @classmethod
  def through(cls, ms_at: Mapping[int, float]) -> "Curve":
    """A point cheaper than a smaller one is raised to it."""
    at, ps = sorted(ms_at), []
    for point in at:
      price = round(ms_at[point] * PS_PER_MS)
      ps.append(max([price, *ps[-1:]]))
    return cls(tuple(at), tuple(ps))

  def __call__(self, amount: int) -> int:
    """Below the first point the price is its; above the last, the last line."""
    if amount <= self.at[0]:
      return self.ps[0]
    right = min(bisect.bisect_left(self.at, amount), len(self.at) - 1)
    left = max(0, right - 1)
    span = max(1, self.at[right] - self.at[left])
    rise = self.ps[right] - self.ps[left]
    return self.ps[left] + rise * (amount - self.at[left]) // span


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Table:
  """Times of one model on one number of chips. Prices steps."""

  prompts: Curve
  """By prompt tokens in the step."""
  tokens: Curve
  """By sequences, at `context_tokens` each."""
  context_tokens: int
  context_token_ps: int

  @classmethod
  def of(cls, rows: Iterable[Row]) -> "Table":
    """From the rows of one model and degree."""
    rows = list(rows)
    singles = [row for row in rows if row.batch == 1]
    batches = {row.batch for row in rows if row.batch > 1}
    prompt = max(r.prompt_tokens for r in rows if r.batch == max(batches))
    output = min(row.output_tokens for row in rows)
    alike = [
        r for r in rows
        if r.prompt_tokens == prompt and r.output_tokens == output
    ]
    longest = max(row.prompt_tokens for row in singles)
    larger = [r for r in rows if r.prompt_tokens * r.batch > longest]
    short = [r for r in singles if r.output_tokens == output]
    return cls(
        prompts=Curve.through(_medians(
            (r.prompt_tokens * r.batch, r.prompt_ms)
            for r in (*singles, *larger)
        )),
        tokens=Curve.through(_medians((r.batch, r.token_ms) for r in alike)),
        context_tokens=prompt + output // 2,
        context_token_ps=_slope_ps(short),
    )

  def segments(self, shape: StepShape) -> tuple[Segment, ...]:
    """Times of the shape's passes; a decode run is one straight line."""
    if shape.prefill:
      return (Segment(1, self.prompts(shape.tokens)),)
    seqs = shape.decode_seqs
    beyond = shape.decode_context_tokens - seqs * self.context_tokens
    first_ps = self.tokens(seqs) + beyond * self.context_token_ps
    slope_ps = seqs * self.context_token_ps
    return (Segment(shape.repeats, max(1, first_ps), slope_ps),)

  def provenance_of(self, shape: StepShape) -> str:
    """`measured` (between rows too) or `extrapolated`."""
    within = (
        shape.tokens <= self.prompts.at[-1]
        if shape.prefill
        else shape.decode_seqs <= self.tokens.at[-1]
    )
    mixed = bool(shape.prefill) and shape.decode_seqs > 0
    later = any(cached for _, cached in shape.prefill)
    return "measured" if within and not mixed and not later else "extrapolated"


def tables(path: Path) -> dict[tuple[str, int], Table]:
  """The file's tables by (model's preset, tp).

  Raises:
    ValueError: it holds no row.
  """
  by_kind: dict[tuple[str, int], list[Row]] = {}
  for row in read(path):
    by_kind.setdefault((row.model, row.tp), []).append(row)
  if not by_kind:
    raise ValueError("no row")
  return {kind: Table.of(rows) for kind, rows in by_kind.items()}


def _medians(pairs: Iterable[tuple[int, float]]) -> dict[int, float]:
  by_key: dict[int, list[float]] = {}
  for key, value in pairs:
    by_key.setdefault(key, []).append(value)
  return {key: statistics.median(values) for key, values in by_key.items()}


def _slope_ps(rows: list[Row]) -> int:
  """Of a token's time in its prompt's length, at batch 1; never negative."""
  fitted = statistics.linear_regression(
      [row.prompt_tokens for row in rows], [row.token_ms for row in rows]
  )
  return max(0, round(fitted.slope * PS_PER_MS))
