"""Rows of JSON traces that hold texts or bare lengths.

*vLLM-style lines* have a `prompt`, or its length as `prompt_tokens` or
`input_length`; the answer's length as `output_tokens` or `output_length`; and
perhaps a `timestamp` in seconds and the fields of `pdjax.workload.row.LIMITS`.
*ShareGPT* is one JSON array of objects with `conversations`, a list of `from`
and `value`; the first two turns are a prompt and its answer, as vLLM's
benchmark takes them. Neither says how many tokens a text has: four characters
count as one, which suits English, and the workload's notes say so.
"""

from typing import Any

from pdjax.workload.jsonobject import length_of, object_of
from pdjax.workload.row import Row, Unusable, limits_of, seconds_ps

CHARACTERS_A_TOKEN = 4

_PROMPT = ("prompt_tokens", "input_length", "prompt_len")
_OUTPUT = ("output_tokens", "output_length", "output_len")


def line_row(line: str) -> Row:
  """One vLLM-style line.

  Raises:
    ValueError: what is wrong with it.
  """
  fields = object_of(line)
  time = fields.get("timestamp", 0)
  return Row(
      seconds_ps("timestamp", str(time)),
      _length(fields, _PROMPT, "prompt"),
      _length(fields, _OUTPUT, "completion"),
      (),
      *limits_of(fields),
  )


def conversation_row(conversation: Any) -> Row:
  """One conversation of a ShareGPT file.

  Raises:
    ValueError: what is wrong with it.
    Unusable: it has no prompt with an answer.
  """
  turns = conversation.get("conversations") if isinstance(
      conversation, dict
  ) else None
  if not isinstance(turns, list):
    raise ValueError("not an object with a list of conversations")
  texts = [turn.get("value") if isinstance(turn, dict) else None
           for turn in turns[:2]]
  if not all(isinstance(text, str) for text in texts):
    raise ValueError("a turn of conversations has no value")
  if len(texts) < 2 or not all(texts):
    raise Unusable
  return Row(0, *(_tokens_of(text) for text in texts))  # pyright: ignore


def _tokens_of(text: str) -> int:
  return max(1, round(len(text) / CHARACTERS_A_TOKEN))


def _length(fields: dict[str, Any], names: tuple[str, ...], text: str) -> int:
  """A length that is said, or else that of a text."""
  for name in names:
    if name in fields:
      return length_of(fields, name)
  if isinstance(fields.get(text), str) and fields[text]:
    return _tokens_of(fields[text])
  raise ValueError(f"missing {names[0]}, or {text}")
