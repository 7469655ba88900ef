"""`python -m pdjax.generate`: prompts in, text out, by the engine.

The same scheduler and engine as in an experiment; only where the prompts come
from and what is done with the tokens is different. JAX is imported when all
else is known to be right.
"""

import os
from collections.abc import Sequence

from pdjax.cli import command, generate_flags
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError
from pdjax.userscode import to_the_end


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(_main, arguments, "\ninterrupted")


def _main(arguments: Sequence[str]) -> int:
  asked, errors = generate_flags.parse(arguments)
  if asked.help:
    print(generate_flags.USAGE, end="")
    return OK
  if asked.config is None:
    errors.append("--config: say which, as in --config=smollm2_chat")
    raise ConfigError(errors)
  from pdjax.cli import generate_run, questions
  from pdjax.models import checkpoint
  from pdjax.models.sizes import spec_of
  from pdjax.models.tokenizer import has_tokenizer, load_tokenizer
  from pdjax.sweep import devices

  run = generate_run.run_of(asked, errors)
  file = checkpoint.path_of(run.model)
  tokenizer = load_tokenizer(file) if file and has_tokenizer(file) else None
  size = spec_of(run.model).vocab_size
  asking = questions.questions_of(
      questions.texts_of(asked), tokenizer, asked.chat, size
  )
  workload = questions.workload_of(run, asking, asked.max_tokens)
  os.environ.update(devices.environment(run))  # JAX is not loaded yet
  from pdjax.cli.answering import answer

  with to_the_end(f"strategy.kind: {run.strategy.kind!r}"):
    answered = answer(run, workload, asking, tokenizer)
  return OK if answered else FAILED
