"""Stop strings: texts that end an answer with the token that completes one.

They are compared in bytes, so a string may begin and end inside tokens and a
token inside a character. Found on the host, where a step's tokens are read;
what has been computed ahead by then is dropped.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from pdjax.config import ConfigError, Run


@dataclasses.dataclass(frozen=True, slots=True)
class Stops:
  """The strings of a run. Without any, it looks at nothing."""

  strings: tuple[bytes, ...] = ()
  token_bytes: Sequence[bytes] = ()
  """What each token spells."""

  @property
  def reach(self) -> int:
    """Bytes of an answer's end that may begin a string."""
    return max(map(len, self.strings), default=1) - 1

  def tail(self, tokens: Sequence[int]) -> bytes:
    """The last `reach` bytes of an answer."""
    tail, at = b"", len(tokens)
    while self.strings and at and len(tail) < self.reach:
      at -= 1
      tail = self.token_bytes[tokens[at]] + tail
    return self._end(tail)

  def after(self, tail: bytes, token: int) -> tuple[bytes, bool]:
    """The tail with another token, and whether a string is complete in it."""
    text = tail + self.token_bytes[token]
    return self._end(text), any(string in text for string in self.strings)

  def _end(self, text: bytes) -> bytes:
    return text[max(0, len(text) - self.reach) :]


def stops_of(run: Run, token_bytes: Sequence[bytes] | None) -> Stops:
  """The stop strings of a run: none where lengths are forced.

  Raises:
    ConfigError: there are some, and nobody knows how tokens are spelled.
  """
  if run.workload.stop == "forced_length" or not run.sampling.stop:
    return Stops()
  if token_bytes is None:
    raise ConfigError([
        f"sampling.stop: model.weights={run.model.weights!r} come with no"
        " tokenizer, so answers have no text; use sampling.stop_ids"
    ])
  strings = tuple(text.encode() for text in run.sampling.stop)
  return Stops(strings, token_bytes)


class Watch:
  """The rows of one run, step after step, by their place in its results."""

  def __init__(self, stops: Stops, tails: Iterable[tuple[int, bytes]]):
    self._stops = stops
    self._tails = dict(tails) if stops.strings else {}

  def completed(self, token_S: Sequence[int]) -> Iterator[int]:
    """Places whose answer is complete with this step's token."""
    for place, tail in list(self._tails.items()):
      tail, complete = self._stops.after(tail, int(token_S[place]))
      self._tails[place] = tail
      if complete:
        del self._tails[place]
        yield place
