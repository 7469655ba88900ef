"""What each request has said so far, and how long its answer really is.

A turn's prompt is known when it arrives: where the answer before it belongs,
the tokens that were made replace those that kept its place.

Only the scheduler's thread uses it: orders leave it as snapshots, and results
come back through reports.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from pdjax.config import Sampling
from pdjax.engine.control import RunControl
from pdjax.engine.orders import Chunk, DecodeRow, Made, StepOrder
from pdjax.engine.stopping import Stops
from pdjax.request import Progress, Request
from pdjax.schedule.worker import Run


class Answers:
  """Prompts, token ids and the lead of each token, by request.

  Args:
    prompts: int32 token ids, by request id.
    output_tokens: tokens after which an answer ends at the latest, by id.
    sampling: of each request, with its own seed.
    stops: strings that end an answer.
  """

  def __init__(
      self,
      prompts: Sequence[np.ndarray],
      output_tokens: Sequence[int],
      sampling: Sequence[Sampling],
      stops: Stops,
  ):
    self._prompts, self._output_tokens = list(prompts), output_tokens
    self._last: dict[int, int] = {}
    """The turn that came last, by session."""
    self._given_up: set[int] = set()
    self.sampling, self._stops = sampling, stops
    self.tokens: dict[int, list[int]] = {i: [] for i in range(len(prompts))}
    self.gaps: dict[int, list[float]] = {i: [] for i in range(len(prompts))}

  def sequence(self, request: int) -> np.ndarray:
    """Prompt and answer so far, int32."""
    answer = np.array(self.tokens[request], np.int32)
    return np.concatenate([self._prompts[request], answer])

  def arrive(self, request: Request) -> None:
    """Completes a turn's prompt; of a turn given up it keeps the stand-in."""
    if request.session is None:
      return
    last = self._last.get(request.session)
    self._last[request.session] = request.id
    if last is None:
      return
    whole = not self.left_tokens(last) and last not in self._given_up
    said = self.sequence(last) if whole else self._prompts[last]
    prompt = self._prompts[request.id].copy()
    prompt[: len(said)] = said
    self._prompts[request.id] = prompt

  def give_up(self, request: int) -> None:
    """Its client has left, whatever is still made of its answer."""
    if self.left_tokens(request):
      self._given_up.add(request)

  def left_tokens(self, request: int) -> int:
    return self._output_tokens[request] - len(self.tokens[request])

  def take(self, made: Iterable[Made]) -> tuple[tuple[int, int], ...]:
    """Adds a run's tokens; (request, tokens of this run) of who is done."""
    finished = []
    for one in made:
      self.tokens[one.request] += one.tokens
      self.gaps[one.request] += one.gaps
      if one.done:
        finished.append((one.request, len(one.tokens)))
    return tuple(finished)

  def order(
      self, run: Run, worker: int, control: RunControl, life: int = 0
  ) -> StepOrder:
    """A run that has just started, as the worker needs it."""
    chunks = zip(run.prompts, run.chunks, strict=True)
    return StepOrder(
        run.id,
        tuple(self._chunk(p, worker, tokens) for p, tokens in chunks),
        tuple(self._row(p, worker) for p in run.decodes),
        control,
        life,
    )

  def _row(self, progress: Progress, worker: int) -> DecodeRow:
    return DecodeRow(
        request=progress.id,
        token=self.tokens[progress.id][-1],
        context_tokens=progress.computed_tokens,
        left_tokens=self.left_tokens(progress.id),
        pages=tuple(progress.pages[worker]),
        sampling=self.sampling[progress.id],
        tail=self._stops.tail(self.tokens[progress.id]),
    )

  def _chunk(self, progress: Progress, worker: int, tokens: int) -> Chunk:
    start = progress.computed_tokens
    complete = tokens == progress.remaining_prefill_tokens
    return Chunk(
        request=progress.id,
        token_U=self.sequence(progress.id)[start : start + tokens],
        start=start,
        pages=tuple(progress.pages[worker]),
        left_tokens=self.left_tokens(progress.id) if complete else 0,
        sampling=self.sampling[progress.id],
        tail=self._stops.tail(self.tokens[progress.id]),
    )
