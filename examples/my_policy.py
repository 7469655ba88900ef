"""Shortest prompt first: a batching rule of one's own, in one file.

Chunked prefill that picks, among the waiting prompts, the shortest instead of
the oldest; one that has waited longer than `patience_s` goes first, so that
long prompts do not starve. Try it on either backend:

    python -m pdjax.experiment --config=my_policy
"""

from pdjax.events import UNTIL_INTERRUPTED, Step
from pdjax.schedule.batching import admit, make_room


class ShortestFirst:
  """Decodes first, then chunks of the shortest prompts up to a budget."""

  def __init__(self, chunk_size: int = 256, patience_s: float = 10.0):
    self._chunk_size = chunk_size
    self._patience_ps = int(patience_s * 1e12)

  def batch(self, worker, world):
    decodes = yield from make_room(worker)
    budget = self._chunk_size - len(decodes)
    chunks = []
    for progress in self._in_order(worker, world.now_ps):
      if budget <= 0:
        break
      if progress.id not in worker.prefilling:
        if not world.admits(worker, progress):
          break
      yield from admit(progress, worker)
      tokens = min(budget, progress.remaining_prefill_tokens)
      chunks.append((progress.id, tokens))
      budget -= tokens
    if chunks:
      yield Step(worker.id, prefill=tuple(chunks), decode=decodes)
    elif decodes:
      yield Step(worker.id, decode=decodes, repeats=UNTIL_INTERRUPTED)

  def _in_order(self, worker, now_ps):
    def urgency(progress):
      waited_ps = now_ps - progress.request.arrival_ps
      impatient = waited_ps > self._patience_ps
      return (not impatient, progress.target_tokens, progress.id)

    yield from list(worker.prefilling.values())
    yield from sorted(worker.waiting, key=urgency)
