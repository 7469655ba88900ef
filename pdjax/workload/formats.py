"""The formats of traces: how a file of each begins, and who reads its rows.

Column names are those of the data sets' own files: Azure's and BurstGPT's
(Wang et al., arXiv 2401.17644) CSV, Mooncake's and Qwen-Bailian's JSON lines
with hashes of prompt blocks, the CSV that Vidur and splitwise-sim take,
ShareGPT conversations, lines as vLLM's benchmark takes them, and
`requests.parquet` of a run of this program.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal

from pdjax.workload import azure, jsonrows, mooncake
from pdjax.workload.arrivals import PS_PER_S
from pdjax.workload.csvrows import Names, Parser
from pdjax.workload.jsonobject import object_of
from pdjax.workload.row import Row, seconds_ps

Name = Literal[
    "azure", "mooncake", "burstgpt", "qwen", "vidur", "splitwise", "jsonl",
    "sharegpt", "requests",
]

QWEN_BLOCK_TOKENS = 16


@dataclasses.dataclass(frozen=True, kw_only=True)
class Format:
  """How files of one format are read."""

  names: Names | None = None
  """Of CSV."""
  line: Callable[[], Callable[[str], Row]] | None = None
  """Makes what reads a line of JSON."""
  block_tokens: int = 0
  """Prompt tokens that a name of a block stands for."""
  timed: bool = True
  """Whether rows say when they came; `jsonl` may or may not."""
  texts: bool = False
  """Whether lengths may have to be guessed from texts."""


FORMATS: dict[str, Format] = {
    "azure": Format(names=azure.NAMES),
    "burstgpt": Format(names=Names(
        "Timestamp", "Request tokens", "Response tokens", seconds_ps,
        failed_output=0,
    )),
    "vidur": Format(names=Names(
        "arrived_at", "num_prefill_tokens", "num_decode_tokens", seconds_ps
    )),
    "splitwise": Format(names=Names(
        "arrival_timestamp", "prompt_size", "token_size", seconds_ps
    )),
    "mooncake": Format(
        line=lambda: mooncake.Parser().row, block_tokens=mooncake.BLOCK_TOKENS
    ),
    "qwen": Format(
        line=lambda: mooncake.Parser(
            QWEN_BLOCK_TOKENS, PS_PER_S, "seconds"
        ).row,
        block_tokens=QWEN_BLOCK_TOKENS,
    ),
    "jsonl": Format(line=lambda: jsonrows.line_row, texts=True),
    "sharegpt": Format(timed=False, texts=True),
    "requests": Format(),
}


def parser(format: Format, header: str) -> Callable[[str], Row]:
  """What reads a line; of CSV, the lines after the header.

  Raises:
    ValueError: the header lacks a column.
  """
  if format.names is not None:
    return Parser(header, format.names).row
  assert format.line is not None
  return format.line()


def guess(first: str) -> str | None:
  """The format of a text file that opens with a line; None if unclear."""
  first = first.strip()
  if first.startswith("["):
    return "sharegpt"
  if first.startswith("{"):
    return _guess_json(first)
  columns = {name.strip() for name in first.split(",")}
  for name, format in FORMATS.items():
    if format.names is not None and columns.issuperset(format.names[:3]):
      return name
  return None


def _guess_json(line: str) -> str | None:
  try:
    fields = object_of(line)
  except ValueError:
    return None
  if "hash_ids" not in fields:
    return "jsonl"
  return "qwen" if "chat_id" in fields else "mooncake"
