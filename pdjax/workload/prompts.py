"""Token ids of prompts: real English, or random ids.

The English is the prose in the docstrings of the Python standard library, so
it needs no download and differs a little from one Python version to the next.
It is encoded once; a prompt is a window of it, cut to the exact token count.
"""

import ast
import functools
import pathlib
import re
import sys
import sysconfig
from collections.abc import Callable, Iterator

import numpy as np

from pdjax.config import ConfigError
from pdjax.request import Request
from pdjax.workload.clients import continues
from pdjax.workload.workload import Workload

Encode = Callable[[str], list[int]]
Draw = Callable[[int], np.ndarray]

OPENING_TOKENS = 16
"""No two windows open with the same tokens, as far as the text allows."""

_TRIES = 64
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def token_ids(
    workload: Workload, encode: Encode | None, vocab_size: int, seed: int
) -> list[np.ndarray]:
  """Each request's prompt, int32 of exactly `prompt_tokens`.

  Requests that name the same block of their prefix get the same tokens there;
  all other tokens are a request's own. A turn of a conversation begins with the
  prompt before it; where that one's answer belongs it has tokens of its own,
  which the answer replaces once it is known. The same arguments give the same
  ids.

  Args:
    workload: whose requests need prompts.
    encode: of the model's tokenizer; None draws ids uniformly.
    vocab_size: ids are below it.
    seed: of all draws.

  Raises:
    ValueError: `encode` gave no ids, or ids that do not fit the vocabulary.
    ConfigError: the Python installation has no standard library sources.
  """
  rng = np.random.default_rng(seed)
  if encode is None:
    draw = _random_ids(vocab_size, rng)
  else:
    draw = _windows(_encoded(encode, vocab_size), rng)
  blocks: dict[tuple[int, int], np.ndarray] = {}
  said: list[np.ndarray] = []
  for request in workload.requests:
    turn = request.id and continues(workload.requests[request.id - 1], request)
    if turn:
      before, own = said[-1], request.prompt_tokens - said[-1].size
      said.append(np.concatenate([before, draw(own)]))
    else:
      said.append(_prompt(request, blocks, draw))
  return said


@functools.cache
def english_text() -> str:
  """Paragraphs of prose, none twice, in a fixed order; about 400 kB.

  Raises:
    ConfigError: the Python installation has no standard library sources.
  """
  folder = pathlib.Path(sysconfig.get_path("stdlib"))
  paragraphs: dict[str, None] = {}
  for file in sorted(folder.glob("*.py")):
    if file.stem in sys.stdlib_module_names:
      paragraphs.update(dict.fromkeys(_prose(file)))
  if not paragraphs:
    raise ConfigError([
        "real prompts: this Python has no sources of its standard library in"
        f" {str(folder)!r} to take English from"
    ])
  return "\n\n".join(paragraphs)


def _prose(file: pathlib.Path) -> Iterator[str]:
  """The paragraphs of a module's docstrings that read as sentences."""
  tree = ast.parse(file.read_bytes())
  for node in ast.walk(tree):
    if isinstance(node, _DOCUMENTED):
      for paragraph in re.split(r"\n\s*\n", ast.get_docstring(node) or ""):
        words = " ".join(paragraph.split())
        if _is_prose(words):
          yield words


def _is_prose(text: str) -> bool:
  """Sentences: long enough, capital to full stop, hardly any symbols."""
  if len(text) < 60 or not text[0].isupper() or text[-1] not in ".:":
    return False
  plain = sum(letter.isalpha() or letter == " " for letter in text)
  return plain > 0.92 * len(text)


def _prompt(
    request: Request,
    blocks: dict[tuple[int, int], np.ndarray],
    draw: Draw,
) -> np.ndarray:
  """The named blocks, the last one cut at the prompt's end, then own tokens."""
  block_tokens = request.prefix_block_tokens
  parts = []
  for id in request.prefix_ids:
    key = (id, block_tokens)
    if key not in blocks:
      blocks[key] = draw(block_tokens)
    parts.append(blocks[key])
  own_tokens = request.prompt_tokens - block_tokens * len(parts)
  if own_tokens > 0:
    parts.append(draw(own_tokens))
  return np.concatenate(parts)[: request.prompt_tokens]


def _encoded(encode: Encode, vocab_size: int) -> np.ndarray:
  text_ids = np.array(encode(english_text()), dtype=np.int32)
  if not text_ids.size:
    raise ValueError("the encoder gave no ids")
  if text_ids.min() < 0 or text_ids.max() >= vocab_size:
    raise ValueError(
        f"{text_ids.min()=} {text_ids.max()=} do not fit {vocab_size=}"
    )
  return text_ids


def _random_ids(vocab_size: int, rng: np.random.Generator) -> Draw:
  return lambda count: rng.integers(vocab_size, size=count, dtype=np.int32)


def _windows(text_ids: np.ndarray, rng: np.random.Generator) -> Draw:
  """Windows of the text, read in a circle, each with a start of its own.

  A window that opens like an earlier one is passed over; after some tries it
  is taken, since short windows must repeat in the end.
  """
  starts = _endless(rng.permutation(text_ids.size))
  seen: set[bytes] = set()

  def draw(count: int) -> np.ndarray:
    window = _window(text_ids, next(starts), count)
    for _ in range(_TRIES):
      if window[:OPENING_TOKENS].tobytes() not in seen:
        break
      window = _window(text_ids, next(starts), count)
    seen.add(window[:OPENING_TOKENS].tobytes())
    return window

  return draw


def _window(text_ids: np.ndarray, start: int, count: int) -> np.ndarray:
  return text_ids.take(np.arange(start, start + count), mode="wrap")


def _endless(starts: np.ndarray) -> Iterator[int]:
  while True:
    yield from starts.tolist()
