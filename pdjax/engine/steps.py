"""How one order becomes compiled passes: a decode run, or a step with prompts.

Both issue passes without waiting, read the results back in order, and note when
each was on the host.
"""

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import jax
import numpy as np

from pdjax.buckets import rung
from pdjax.engine import packing
from pdjax.engine.orders import (
  Chunk,
  DecodeRow,
  GatherOrder,
  Group,
  Made,
  StepOrder,
)
from pdjax.engine.replica import Replica
from pdjax.engine.stopping import Stops, Watch

TOKEN, GAP, DONE = range(3)
"""Rows of a pass's result."""

Spoken = tuple[int, int]
"""A request and its token."""

Leave = Callable[[GatherOrder], None]

Heard = Callable[[Iterable[Spoken]], None]

Talking = tuple[int, DecodeRow | Chunk]
"""A row and its place in the results."""


@dataclasses.dataclass(slots=True)
class Padding:
  """Token rows of all passes so far: how many were filled."""

  filled_tokens: int = 0
  padded_tokens: int = 0
  wasted_tokens: int = 0
  """Of those filled, computed ahead for an answer that had ended."""

  def count(self, filled: int, size: int) -> None:
    self.filled_tokens += filled
    self.padded_tokens += size - filled

  @classmethod
  def sum(cls, parts: "Iterable[Padding]") -> "Padding":
    total = cls()
    for part in parts:
      total.filled_tokens += part.filled_tokens
      total.padded_tokens += part.padded_tokens
      total.wasted_tokens += part.wasted_tokens
    return total

  @property
  def fraction(self) -> float:
    """Padded rows of all rows; 0 before the first pass."""
    total = self.filled_tokens + self.padded_tokens
    return self.padded_tokens / total if total else 0.0


class DecodeRun:
  """Steps that feed their tokens back on the device."""

  def __init__(
      self, order: StepOrder, replica: Replica, padding: Padding, stops: Stops
  ):
    self._order, self._replica, self._padding = order, replica, padding
    self._talking = list(enumerate(order.decodes))
    self._watch = _watch(stops, self._talking)
    self._B = rung(replica.buckets.B, len(order.decodes))
    self._feed = packing.feed_of(order.decodes, self._B)
    rows = packing.rows_of(
        order.decodes, self._B, replica.buckets.M, replica.sampling
    )
    self._rows = replica.rows_on_device(rows)
    self._in_flight: deque[jax.Array] = deque()
    self._landed: list[np.ndarray] = []

  def execute(self, ahead: int, landed: Heard) -> Iterator[Made]:
    """Runs until the limit, or until a request's answer ends.

    Args:
      ahead: steps in flight beyond the one that is being read.
      landed: called after each step whose tokens are on the host.
    """
    ended = False
    while True:
      room = not ended and len(self._in_flight) <= ahead
      wait = not self._in_flight
      if room and self._order.control.claim(wait=wait):
        self._issue()
      elif self._in_flight:
        landed(self._land())
        ended = len(self._talking) < len(self._order.decodes)
      else:
        return self._made()

  def _issue(self) -> None:
    feed, result_3B = self._replica.decode(self._feed, self._rows)
    self._feed = feed
    self._in_flight.append(result_3B)
    self._padding.count(len(self._order.decodes), self._B)

  def _land(self) -> Iterator[Spoken]:
    """Reads the oldest result; the tokens in it of answers not over before."""
    result_3B = _read(self._in_flight.popleft(), self._watch)
    self._landed.append(result_3B)
    spoken = _spoken(self._talking, result_3B)
    if result_3B[DONE].any():
      self._talking = [
          (place, row) for place, row in self._talking
          if not result_3B[DONE, place]
      ]
    return spoken

  def _made(self) -> Iterator[Made]:
    results_3BJ = np.stack(self._landed, axis=-1)
    for place, row in enumerate(self._order.decodes):
      result_3J = results_3BJ[:, place]
      ends = np.flatnonzero(result_3J[DONE])
      steps = ends[0] + 1 if ends.size else result_3J.shape[1]
      self._padding.wasted_tokens += int(result_3J.shape[1] - steps)
      yield _made(row.request, result_3J[:, :steps])


class PromptStep:
  """Prompt chunks packed into as few passes as fit; decodes join the last."""

  def __init__(
      self,
      order: StepOrder,
      replica: Replica,
      padding: Padding,
      stops: Stops,
      leave: Leave = lambda gather: None,
  ):
    """`leave` copies pages out, a group of layers at a time."""
    self._order, self._replica, self._padding = order, replica, padding
    self._stops, self._leave = stops, leave

  def execute(self, ahead: int, landed: Heard) -> Iterator[Made]:
    """All passes of the step; `landed` is called once, at its end."""
    self._order.control.claim(wait=True)
    buckets, R = self._replica.buckets, self._replica.R
    packs = list(packing.split(self._order.chunks, buckets.U[-1], R))
    self._last_chunk = packs[-1][-1]
    joined = [()] * (len(packs) - 1) + [self._order.decodes]
    passes = list(zip(packs, joined, strict=True))
    issued = [self._issue(chunks, decodes) for chunks, decodes in passes]
    talking = [self._talking(chunks, decodes) for chunks, decodes in passes]
    results = [
        _read(result_3S, _watch(self._stops, rows))
        for result_3S, rows in zip(issued, talking, strict=True)
    ]
    passes = list(zip(talking, results, strict=True))
    landed(one for pair in passes for one in _spoken(*pair))
    for rows, result_3S in passes:
      for place, row in rows:
        yield _made(row.request, result_3S[:, place, None])

  def _issue(
      self, chunks: list[Chunk], decodes: tuple[DecodeRow, ...]
  ) -> jax.Array:
    buckets = self._replica.buckets
    tokens = sum(len(chunk.token_U) for chunk in chunks)
    U, M = rung(buckets.U, tokens), buckets.M
    B = buckets.B[-1] if decodes else 0
    self._padding.count(tokens + len(decodes), U + B)
    kind = self._replica.sampling
    prompts = packing.prompts_of(chunks, U, M, self._replica.R, kind)
    if self._replica.stages and not decodes:
      return self._replica.prefill_staged(prompts, self._left(chunks))
    return self._replica.mixed(
        packing.feed_of(decodes, B), packing.rows_of(decodes, B, M, kind),
        prompts,
    )

  def _left(self, chunks: list[Chunk]) -> Callable[[int], None]:
    """After each stage of the last pass its layers of the pages leave."""
    gathers, stages = self._order.gathers, self._replica.stages
    if chunks[-1] is not self._last_chunk:
      gathers = ()

    def left(first_layer: int) -> None:
      group = Group(
          first_layer, first_layer == stages[0], first_layer == stages[-1],
          len(stages),
      )
      for gather in gathers:
        self._leave(gather.of(group))

    return left

  def _talking(
      self, chunks: list[Chunk], decodes: tuple[DecodeRow, ...]
  ) -> list[Talking]:
    """The rows of a pass whose results are tokens."""
    first = self._replica.buckets.B[-1] if decodes else 0
    last = [pair for pair in enumerate(chunks, first) if pair[1].left_tokens]
    return [*enumerate(decodes), *last]


def _watch(stops: Stops, rows: Iterable[Talking]) -> Watch:
  return Watch(stops, ((place, row.tail) for place, row in rows))


def _read(result_3S: jax.Array, watch: Watch) -> np.ndarray:
  """A result on the host, done where a stop string is complete."""
  ours_3S = np.array(result_3S)
  for place in watch.completed(ours_3S[TOKEN]):
    ours_3S[DONE, place] = 1
  return ours_3S


def _spoken(
    rows: Iterable[Talking], result_3S: np.ndarray
) -> Iterator[Spoken]:
  """Made as it is read: a step spends no time on it where nobody listens."""
  return ((row.request, int(result_3S[TOKEN, place])) for place, row in rows)


def _made(request: int, result_3J: np.ndarray) -> Made:
  return Made(
      request,
      tokens=result_3J[TOKEN].tolist(),
      gaps=np.ascontiguousarray(result_3J[GAP]).view(np.float32).tolist(),
      done=bool(result_3J[DONE, -1]),
  )
