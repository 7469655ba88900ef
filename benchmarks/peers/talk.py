"""A contender's end of the line: a JSON line asks, a JSON line answers.

A contender is a process of its own, with libraries of its own, that has loaded
one model and waits. While another one is measured it does nothing. Nothing but
the standard library is imported here: this runs in any peer's Python.

  {"ask": "prefill", "tokens": n}                    {"seconds": s}
  {"ask": "decode", "batch": b, "context": n,
   "steps": k}                                       {"seconds": [s, ...]}
  {"ask": "offline", "requests": r, "prompt": n,
   "output": m}                                      {"seconds": s,
                                                      "tokens": [[id, ...]]}

Seconds of a prefill are those of one prompt to its first token; of a decode,
those of each step of a full batch, its tokens on the host; of an offline run,
those from the first request handed over to the last token.
"""

import json
import os
import random
import sys
import traceback
from collections.abc import Callable
from typing import Any, Protocol


class Contender(Protocol):
  """What is measured."""

  def about(self) -> dict[str, Any]:
    """Versions and settings, fit for JSON."""
    ...

  def prefill(self, tokens: int) -> dict[str, Any]: ...

  def decode(self, batch: int, context: int, steps: int) -> dict[str, Any]: ...

  def offline(
      self, requests: int, prompt: int, output: int
  ) -> dict[str, Any]: ...


def prompt_of(request: int, tokens: int, vocab: int) -> list[int]:
  """Token ids of a request, the same for every contender."""
  return random.Random(request).choices(range(vocab), k=tokens)


def answer(make: Callable[[dict[str, Any]], Contender]) -> None:
  """Makes the contender of `sys.argv[1]`, a JSON object, and serves.

  What libraries print goes to the error output. A contender that cannot be
  made says why in one line, and so does a question that fails.
  """
  line = os.fdopen(os.dup(1), "w", encoding="utf-8")
  os.dup2(2, 1)

  def tell(said: dict[str, Any]) -> None:
    line.write(json.dumps(said) + "\n")
    line.flush()

  try:
    contender = make(json.loads(sys.argv[1]))
    tell({"about": contender.about()})
  except BaseException as error:  # an import may exit, too
    traceback.print_exc()
    missing = error.name if isinstance(error, ImportError) else None
    tell({"failed": said_of(error), "missing": missing})
    return
  for text in sys.stdin:
    tell(_answered(contender, json.loads(text)))


def _answered(
    contender: Contender, question: dict[str, Any]
) -> dict[str, Any]:
  ask = question.pop("ask")
  try:
    return getattr(contender, ask)(**question)
  except Exception as error:
    traceback.print_exc()
    return {"failed": said_of(error)}


def said_of(error: BaseException) -> str:
  """An exception in one line."""
  text = " ".join(str(error).split())[:300]
  return f"{type(error).__name__}: {text}"
