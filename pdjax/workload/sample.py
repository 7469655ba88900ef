"""Makes the small trace samples that come with the package.

They are draws of this file's own laws from a fixed seed, with lengths such as
chats have; no row is from a real trace. `python -m pdjax.workload.sample DIR`
writes them anew. The laws, all lengths in tokens:

  azure.csv: gamma arrivals at 5 a second with coefficient of variation 1.3;
    prompts lognormal with median 700 and sigma 1.0, answers lognormal with
    median 150 and sigma 0.8.
  mooncake.jsonl: conversations that start at 0.9 a second. Each opens with one
    of three system prompts and asks 1 to 8 questions; a question's prompt is
    everything said before and the question.
"""

import datetime
import json
import math
import pathlib
import random
import sys
from collections.abc import Iterator

from pdjax.workload.mooncake import BLOCK_TOKENS

SEED = 20240131
ROWS = 200
START = datetime.datetime(2024, 1, 31, 9, 0, 0)
TICK_MS = 3000
SYSTEM_TOKENS = (700, 1200, 2600)

_TICKS_PER_S = 10**7

Segment = tuple[object, int]
"""A piece of text: its name and its length in tokens."""


def azure_csv() -> str:
  """CRLF line ends, seven fractional digits, no last line end."""
  rng = random.Random(SEED)
  lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
  at = 0
  for _ in range(ROWS):
    time = START + datetime.timedelta(seconds=at // _TICKS_PER_S)
    prompt_tokens = _lognormal(rng, 700, 1.0, 8, 8000)
    output_tokens = _lognormal(rng, 150, 0.8, 4, 1000)
    fraction = f"{at % _TICKS_PER_S:07d}"
    lines.append(f"{time}.{fraction},{prompt_tokens},{output_tokens}")
    gap_s = rng.gammavariate(1.3**-2, 1.3**2 / 5)
    at += round(gap_s * _TICKS_PER_S)
  return "\r\n".join(lines)


def mooncake_jsonl() -> str:
  """One object a line, in order of time."""
  rng = random.Random(SEED + 1)
  turns = []
  start_s = 0.0
  for conversation in range(ROWS):
    turns += _conversation(rng, conversation, start_s)
    start_s += rng.expovariate(0.9)
  turns.sort(key=lambda turn: turn[0])
  names: dict[object, int] = {}
  rows = (
      {
          "timestamp": int(at_s * 1000) // TICK_MS * TICK_MS,
          "input_length": sum(length for _, length in prompt),
          "output_length": output_tokens,
          "hash_ids": _block_ids(prompt, names),
      }
      for at_s, prompt, output_tokens in turns[:ROWS]
  )
  return "".join(json.dumps(row) + "\n" for row in rows)


def _conversation(
    rng: random.Random, name: int, at_s: float
) -> Iterator[tuple[float, list[Segment], int]]:
  """(time, prompt, answer's tokens) of every turn."""
  system = rng.choices(range(3), weights=(5, 3, 2))[0]
  said: list[Segment] = [(f"system {system}", SYSTEM_TOKENS[system])]
  for turn in range(min(8, 1 + int(rng.expovariate(0.45)))):
    median = 500 if turn else 1500
    question = _lognormal(rng, median, 1.0, 10, 16000)
    output_tokens = _lognormal(rng, 220, 0.8, 4, 2000)
    said = [*said, ((name, turn, "question"), question)]
    yield at_s, said, output_tokens
    said = [*said, ((name, turn, "answer"), output_tokens)]
    at_s += 0.03 * output_tokens + rng.expovariate(1 / 20)


def _block_ids(prompt: list[Segment], names: dict[object, int]) -> list[int]:
  """An id for each block, by its text and the block before it."""
  ids: list[int] = []
  for pieces in _blocks(prompt):
    key = (ids[-1] if ids else None, pieces)
    ids.append(names.setdefault(key, len(names)))
  return ids


def _blocks(prompt: list[Segment]) -> Iterator[tuple]:
  """Each block's pieces: (segment, first token, last token + 1)."""
  pieces, room = [], BLOCK_TOKENS
  for segment, length in prompt:
    first = 0
    while first < length:
      last = min(length, first + room)
      pieces.append((segment, first, last))
      room -= last - first
      first = last
      if not room:
        yield tuple(pieces)
        pieces, room = [], BLOCK_TOKENS
  if pieces:
    yield tuple(pieces)


def _lognormal(
    rng: random.Random, median: float, sigma: float, low: int, high: int
) -> int:
  drawn = rng.lognormvariate(math.log(median), sigma)
  return max(low, min(high, round(drawn)))


def write(folder: pathlib.Path) -> None:
  """Writes both samples, byte for byte what the package holds."""
  (folder / "azure.csv").write_bytes(azure_csv().encode())
  (folder / "mooncake.jsonl").write_bytes(mooncake_jsonl().encode())


if __name__ == "__main__":
  write(pathlib.Path(sys.argv[1]))
