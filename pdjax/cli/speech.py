"""Tokens to text as they come: never half a character, never half a stop.

Several answers are made at once and shown one after the other: the first that
is not over streams, the others wait until it is.
"""

import codecs
from collections.abc import Callable, Collection, Sequence
from typing import Protocol


class Voice(Protocol):
  """One answer on its way to text."""

  def add(self, token: int) -> str:
    """What can be shown with another token."""
    ...

  def end(self) -> str:
    """What is left to be shown."""
    ...


class Text:
  """An answer's text, up to a stop string or an end token.

  Args:
    spelled: what each token spells.
    stops: strings that end an answer, in bytes.
    end_ids: tokens that do; they are not shown.
  """

  def __init__(
      self, spelled: Sequence[bytes], stops: Sequence[bytes],
      end_ids: Collection[int],
  ):
    self._spelled, self._stops, self._end_ids = spelled, stops, end_ids
    self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
    self._held = b""
    """Might be the beginning of a stop string."""

  def add(self, token: int) -> str:
    if token in self._end_ids:
      return ""
    self._held += self._spelled[token]
    found = [self._held.find(stop) for stop in self._stops]
    ends = [at for at in found if at >= 0]
    if ends:
      shown, self._held = self._held[: min(ends)], b""
    else:
      at = len(self._held) - self._begun()
      shown, self._held = self._held[:at], self._held[at:]
    return self._decoder.decode(shown)

  def end(self) -> str:
    return self._decoder.decode(self._held, final=True)

  def _begun(self) -> int:
    """Bytes at the end that begin a stop string."""
    return max(
        (
            size for stop in self._stops for size in range(1, len(stop))
            if self._held.endswith(stop[:size])
        ),
        default=0,
    )


class Ids:
  """An answer of a model without a tokenizer: its token ids."""

  def add(self, token: int) -> str:
    return f"{token} "

  def end(self) -> str:
    return ""


class Speaker:
  """Shows answers in their order.

  Args:
    voices: one an answer.
    titles: shown above each; none if there is one answer.
    write: takes the text.
  """

  def __init__(
      self, voices: Sequence[Voice], titles: Sequence[str],
      write: Callable[[str], None],
  ):
    self._voices, self._titles, self._write = voices, titles, write
    self._waiting = [title + "\n" if title else "" for title in titles]
    self._over = [False] * len(voices)
    self._shown = 0

  def heard(self, answer: int, token: int) -> None:
    self._waiting[answer] += self._voices[answer].add(token)
    self._flush()

  def ended(self, answer: int) -> None:
    if not self._over[answer]:
      self._waiting[answer] += self._voices[answer].end() + "\n"
      self._over[answer] = True
      self._flush()

  def _flush(self) -> None:
    while self._shown < len(self._voices):
      text, self._waiting[self._shown] = self._waiting[self._shown], ""
      if text:
        self._write(text)
      if not self._over[self._shown]:
        return
      self._shown += 1
