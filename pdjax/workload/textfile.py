"""A text file piece by piece, so that its size does not matter.

UTF-8; a byte order mark, any kind of line end and a missing last one are
tolerated.
"""

import codecs
import hashlib
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PIECE_BYTES = 1 << 20


class TextFile:
  """Reads a file once; `sha256` is of its bytes when it has been read."""

  def __init__(self, path: Path):
    self._path, self._digest = path, hashlib.sha256()

  @property
  def sha256(self) -> str:
    return self._digest.hexdigest()

  def lines(self) -> Iterator[tuple[int, str]]:
    """Lines with something in them, and their numbers from 1.

    Only line ends split, not other separators, which JSON may hold.

    Raises:
      OSError, UnicodeDecodeError: the file cannot be read, or is no text.
    """
    number, rest = 0, ""
    for piece in self._pieces():
      *whole, rest = (rest + piece).split("\n")
      for number, line in enumerate(whole, start=number + 1):  # noqa: B020
        if line.strip():
          yield number, line
    if rest.strip():
      yield number + 1, rest

  def items(self) -> Iterator[Any]:
    """The items of a file that is one JSON array, one after the other.

    Raises:
      OSError, UnicodeDecodeError: as `lines`.
      ValueError: it is no JSON array.
    """
    decoder, text, opened = json.JSONDecoder(), "", False
    for piece in self._pieces():
      text += piece
      if not opened:
        text = text.lstrip()
        if text and text[0] != "[":
          raise ValueError("not a JSON array")
        opened, text = bool(text), text[1:]
      while text := text.lstrip(" \t\n,"):
        try:
          item, end = decoder.raw_decode(text)
        except (ValueError, RecursionError):
          break  # perhaps the rest of it is still to come
        yield item
        text = text[end:]
    if text.strip() != "]":
      raise ValueError("not a JSON array, or cut short")

  def _pieces(self) -> Iterator[str]:
    decoder = io.IncrementalNewlineDecoder(
        codecs.getincrementaldecoder("utf-8-sig")(), translate=True
    )
    with self._path.open("rb") as file:
      while piece := file.read(PIECE_BYTES):
        self._digest.update(piece)
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)
