"""Prompts from the command line, as token ids that fit the run."""

import dataclasses
import sys
from collections.abc import Sequence

import numpy as np

from pdjax import inputfile
from pdjax.cli.generate_flags import Asked
from pdjax.config import ConfigError, Run
from pdjax.engine import capacity
from pdjax.models.sizes import spec_of
from pdjax.models.tokenizer import Tokenizer
from pdjax.request import Request
from pdjax.workload.workload import Workload


@dataclasses.dataclass(frozen=True)
class Question:
  """What is asked, and as the model reads it."""

  text: str
  ids: np.ndarray
  """int32, at least one."""


def texts_of(asked: Asked) -> list[str]:
  """The prompts as they were given.

  Raises:
    ConfigError: there is none, or a file or standard input cannot be read.
  """
  if not asked.prompts:
    raise ConfigError(["--prompt: say what to answer, as in --prompt='Hi'"])
  texts, errors = [], []
  for kind, value in asked.prompts:
    try:
      texts.append(_text(kind, value))
    except (OSError, UnicodeError) as error:
      errors.append(f"--{kind}={value}: cannot be read: {error}")
    else:
      if not texts[-1]:
        errors.append(f"--{kind}={value}: has no text")
  if errors:
    raise ConfigError(errors)
  return texts


def _text(kind: str, value: str) -> str:
  """Raises OSError or UnicodeError where there is no text to be had."""
  if kind == "prompt_file":
    return inputfile.path_of(value).read_text(encoding="utf-8")
  text = value
  if value == "-":
    text = sys.stdin.read() if sys.stdin else ""
  # Python hands on bytes that it could not decode as lone surrogates.
  return text.encode(errors="surrogateescape").decode()


def questions_of(
    texts: Sequence[str], tokenizer: Tokenizer | None, chat: bool | None,
    vocab_size: int,
) -> list[Question]:
  """Prompts as token ids.

  Args:
    texts: at least one character each.
    tokenizer: of the model; without one a prompt's bytes are its ids.
    chat: whether each is a user's message; None: if there is a template.
    vocab_size: of the model.

  Raises:
    ConfigError: there is no chat template.
  """
  if tokenizer is None:
    if chat:
      raise ConfigError([
          "--chat: the weights come with no tokenizer, so with no chat template"
      ])
    return [Question(text, _bytes(text, vocab_size)) for text in texts]
  if chat is None:
    chat = tokenizer.chat_template is not None
  questions = []
  for text in texts:
    said = text
    if chat:
      said = tokenizer.chat([{"role": "user", "content": text}])
    ids = tokenizer.encode(said, special=not chat)
    questions.append(Question(text, np.array(ids, np.int32)))
  return questions


def _bytes(text: str, vocab_size: int) -> np.ndarray:
  return np.frombuffer(text.encode(), np.uint8).astype(np.int32) % vocab_size


def workload_of(
    run: Run, questions: Sequence[Question], max_tokens: int
) -> Workload:
  """All of them at once; answers are as long as they get.

  Raises:
    ConfigError: a line for each that is too long.
  """
  requests = tuple(
      Request(
          id=id, arrival_ps=0, prompt_tokens=len(question.ids),
          max_tokens=max_tokens,
      )
      for id, question in enumerate(questions)
  )
  errors = [line for request in requests for line in _too_long(run, request)]
  if errors:
    raise ConfigError(errors)
  return Workload(requests, (max_tokens,) * len(requests), {})


def _too_long(run: Run, request: Request) -> list[str]:
  spec, tokens = spec_of(run.model), request.prompt_tokens
  needed = tokens + request.max_tokens
  first = dataclasses.replace(request, id=0)
  alone = Workload((first,), (request.max_tokens,), {})
  room = list(capacity.none_fits(run, alone, capacity.pool_pages_of(run)))
  limit = None
  if needed > spec.max_position_embeddings:
    limit = f"the {spec.max_position_embeddings} positions of {spec.name}"
  elif room:
    limit = "a worker's KV cache (cluster.kv_tokens)"
  if limit is None:
    return []
  return [
      f"--prompt: number {request.id + 1} has {tokens} tokens, which with"
      f" --max_tokens={request.max_tokens} are more than {limit}"
  ]
