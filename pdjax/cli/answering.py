"""Serves prompts on the engine and shows the answers as they are made.

Imports JAX when it is called.
"""

import sys
from collections.abc import Collection, Sequence

from pdjax.cli.cell import check_laws
from pdjax.cli.questions import Question
from pdjax.cli.speech import Ids, Speaker, Text, Voice
from pdjax.cli.uncollected import uncollected
from pdjax.cli.watch import Throttle
from pdjax.config import Run
from pdjax.engine import capacity
from pdjax.engine.agreement import unscored
from pdjax.events import Event, Log, StepEnded
from pdjax.metrics.conditions import split_of
from pdjax.metrics.requests import request_table
from pdjax.models import checkpoint
from pdjax.models.sizes import spec_of
from pdjax.models.tokenizer import Tokenizer, end_ids_of
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import world_of
from pdjax.schedule.world import World
from pdjax.simulate.stepcosts import policy_for
from pdjax.workload.workload import Workload

_TITLE_CHARACTERS = 60


def answer(
    run: Run,
    workload: Workload,
    questions: Sequence[Question],
    tokenizer: Tokenizer | None,
) -> bool:
  """Text to standard output, and a line about the run to standard errors.

  Returns whether the model computed: logits that are not finite choose no
  token, and what is shown then is no answer.

  Raises:
    ConfigError: the run does not fit the machine.
  """
  from pdjax.engine.backend import EngineBackend

  if run.model.weights == "random":
    tell("random weights: the answers will be noise")
  size = spec_of(run.model).vocab_size
  spelled = tokenizer.spelled(size) if tokenizer else None
  end_ids = _end_ids(run, tokenizer)
  speaker = Speaker(
      [_voice(run, spelled, end_ids) for _ in questions],
      _titles(questions), _write,
  )

  def watch(event: Event, world: World) -> None:
    if isinstance(event, StepEnded):
      for request, _ in event.finished:
        speaker.ended(request)

  with EngineBackend(
      run, workload, [question.ids for question in questions],
      end_ids=end_ids, token_bytes=spelled, heard=speaker.heard,
      progress=Throttle(tell),
  ) as backend, uncollected():
    world = world_of(
        run, capacity.pool_pages_of(run), capacity.staging_pages_of(run)
    )
    log = serve(policy_for(run), backend, world, watch)
    check_laws(world, workload)
    tell(_summary(run, log, backend.conditions))
    return _computed(run, backend.gaps.values())


def _computed(run: Run, gaps: Collection[Sequence[float]]) -> bool:
  """Whether every token had scores; says so if not."""
  lost = unscored(gaps)
  if lost:
    tell(
        f"not a number in the logits of {lost} of {sum(map(len, gaps))} tokens,"
        f" which are no answer: see model.weights={run.model.weights!r} and"
        f" model.dtype={run.model.dtype!r}"
    )
  return not lost


def tell(line: str) -> None:
  print(line, file=sys.stderr, flush=True)


def _write(text: str) -> None:
  print(text, end="", flush=True)


def _end_ids(run: Run, tokenizer: Tokenizer | None) -> tuple[int, ...]:
  """Of the tokenizer, else what the weights' folder declares."""
  if tokenizer:
    return tokenizer.eos_ids
  file = checkpoint.path_of(run.model)
  return end_ids_of(file) if file else ()


def _voice(
    run: Run, spelled: Sequence[bytes] | None, end_ids: Sequence[int]
) -> Voice:
  if spelled is None:
    return Ids()
  if run.workload.stop == "forced_length":
    return Text(spelled, (), ())
  stops = [text.encode() for text in run.sampling.stop]
  return Text(spelled, stops, {*end_ids, *run.sampling.stop_ids})


def _titles(questions: Sequence[Question]) -> list[str]:
  """Which answer is whose, where there are several."""
  if len(questions) == 1:
    return [""]
  return [
      f"[{number}] {' '.join(question.text.split())[:_TITLE_CHARACTERS]}"
      for number, question in enumerate(questions, start=1)
  ]


def _summary(run: Run, log: Log, conditions: dict) -> str:
  table = request_table(log, run.strategy.first_token or "at_prefill")
  tokens = int(table["output_tokens"].sum())
  ttft_s = float(table["ttft_ns"].mean()) / 1e9
  seconds = table.end_ns / 1e9
  devices, cores = conditions["devices_used"], conditions["host_cores"]
  where = f"{devices} device(s) ({conditions['device_kind']})"
  if conditions["platform"] == "cpu":
    where = f"{devices} device(s) sharing {cores} cores"
  count = len(table["output_tokens"])
  mean = f" (mean of {count})" if count > 1 else ""
  return (
      f"{tokens} tokens, TTFT {ttft_s:.2f} s{mean}, {tokens / seconds:.1f}"
      f" tok/s, {run.strategy.kind} on {split_of(run)}, {run.model.dtype};"
      f" measured on {where}"
  )
