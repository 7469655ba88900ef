"""Step times of whole engines on A100: DistServe's fits, Splitwise's table.

DistServe fitted straight lines to the steps of its own engine and of the vLLM
of its time (Zhong et al., OSDI 2024; LLMServe/DistServe); a reading is a value
of such a line, at loads that the memory of the chips could hold. Splitwise
measured first tokens and token times of a vLLM of 2023 (Patel et al., ISCA
2024; Mutinifni/splitwise-sim); a reading is the median of equal conditions.
"""

import dataclasses
import statistics
from collections.abc import Iterator
from pathlib import Path

from pdjax.calibrate.published.readings import Reading
from pdjax.layout import Layout
from pdjax.models.presets import preset
from pdjax.schedule.cost import StepShape
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.profiles import distserve, splitwise
from pdjax.simulate.rates import PS_PER_MS
from pdjax.simulate.scalars import Scalars

_PROMPTS = (
    (128, 1), (256, 1), (512, 1), (1024, 1), (2000, 1), (512, 4), (256, 16)
)
"""(tokens, how many) of a prefill step."""
_BATCHES = (1, 8, 32, 64, 94, 128, 192)
_CONTEXTS = (256, 700, 1500)
_FITTED = {
    ("opt-13b", 1), ("opt-13b", 4), ("opt-66b", 2), ("opt-66b", 4),
    ("llama-2-70b", 2), ("llama-2-70b", 8),
}
"""(model, tp) that scalars are fitted on."""


def distserve_fits(
    profile: Path, capacity: Path, engine: str
) -> list[Reading]:
  """The lines of `profile`, within the tokens that `capacity` says fit."""
  room = distserve.capacity_tokens(capacity)
  return [
      reading
      for (model, tp), lines in distserve.read(profile).items()
      for reading in _of_lines(lines, model, tp, engine, room[model, tp, 1])
  ]


def _of_lines(
    lines: distserve.Lines, model: str, tp: int, engine: str, room: int
) -> Iterator[Reading]:
  prefills = (StepShape(((n, 0),) * count) for n, count in _PROMPTS)
  decodes = (
      StepShape((), seqs, seqs * context)
      for seqs in _BATCHES
      for context in _CONTEXTS
  )
  for shape in (*prefills, *decodes):
    tokens = shape.decode_context_tokens or shape.tokens
    if tokens <= room:
      phase = "prefill" if shape.prefill else "decode"
      measured_ms = lines.step_ps(shape) / PS_PER_MS
      yield _reading(f"{engine} {phase}", engine, model, tp, shape, measured_ms)


def splitwise_rows(path: Path) -> list[Reading]:
  """First tokens and token times of `splitwise_a100.csv`."""
  engine = "vLLM of 2023"
  seen: dict[tuple, list[splitwise.Row]] = {}
  for row in splitwise.read(path):
    kind = (row.model, row.tp, row.prompt_tokens, row.batch, row.output_tokens)
    seen.setdefault(kind, []).append(row)
  readings, prompts = [], set()
  for (model, tp, prompt, batch, output), rows in seen.items():
    decode = StepShape((), batch, batch * (prompt + output // 2))
    token_ms = statistics.median(row.token_ms for row in rows)
    readings.append(
        _reading("Splitwise tokens", engine, model, tp, decode, token_ms)
    )
    if (model, tp, prompt, batch) not in prompts:
      prompts.add((model, tp, prompt, batch))
      prefill = StepShape(((prompt, 0),) * batch)
      prompt_ms = statistics.median(row.prompt_ms for row in rows)
      readings.append(
          _reading("Splitwise prompts", engine, model, tp, prefill, prompt_ms)
      )
  return readings


def _reading(
    source: str, engine: str, model: str, tp: int, shape: StepShape,
    measured_ms: float,
) -> Reading:
  return Reading(
      source=source, case=f"{model} tp {tp}, {_words(shape)}", engine=engine,
      measured_ms=measured_ms, fitted=(model, tp) in _FITTED,
      price_ms=_Step(model, tp, shape),
  )


def _words(shape: StepShape) -> str:
  if shape.prefill:
    return f"{len(shape.prefill)} prompts of {shape.prefill[0][0]}"
  each = shape.decode_context_tokens // shape.decode_seqs
  return f"batch {shape.decode_seqs}, context {each}"


@dataclasses.dataclass(frozen=True, slots=True)
class _Step:
  model: str
  tp: int
  shape: StepShape

  def __call__(self, scalars: Scalars) -> float:
    cost = AnalyticalCost(
        preset(self.model), CHIPS["a100-80gb-sxm"], layout=Layout(tp=self.tp),
        scalars=scalars,
    )
    return cost.step(self.shape)[0].first_ps / PS_PER_MS
