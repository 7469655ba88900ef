"""Chat templates: a conversation as the one text a model was trained on.

A template is a Jinja program that comes with the weights, so it runs in
Jinja's sandbox. It sees the messages, the model's marker tokens and
`add_generation_prompt`, which are the names that checkpoints agree on. The
date is not among them: the same conversation is the same text every day.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax import config

Message = Mapping[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}."""


def rendered(
    template: str, messages: Sequence[Message], markers: Mapping[str, str]
) -> str:
  """The text up to where the assistant speaks next.

  Args:
    template: Jinja source.
    messages: the conversation so far.
    markers: `bos_token`, `eos_token` and so on.

  Raises:
    ConfigError: the template refuses the messages or is no valid Jinja.
  """
  import jinja2

  try:
    return _environment().from_string(template).render(
        messages=list(messages), add_generation_prompt=True, **markers
    )
  except (jinja2.TemplateError, TypeError, ValueError) as error:
    raise config.ConfigError(
        [f"the model's chat template fails: {error}"]
    ) from error


def _environment():
  import jinja2
  from jinja2.sandbox import ImmutableSandboxedEnvironment

  def refuse(message: str):
    raise jinja2.TemplateError(message)

  environment = ImmutableSandboxedEnvironment(
      trim_blocks=True, lstrip_blocks=True,
      extensions=["jinja2.ext.loopcontrols"],
  )
  environment.globals["raise_exception"] = refuse
  environment.filters["tojson"] = _json
  return environment


def _json(value: Any, indent: int | None = None) -> str:
  """Plain JSON; Jinja's own escapes it for HTML."""
  return json.dumps(value, ensure_ascii=False, indent=indent)
