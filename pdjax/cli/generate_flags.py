"""The command line of `python -m pdjax.generate`, parsed by hand.

As in `pdjax.cli.flags` a mistake is one line, and all are shown together.
"""

import dataclasses
from collections.abc import Sequence

from pdjax.cli.arguments import EMPTY, twice, unknown, usage
from pdjax.cli.flags import ADDED
from pdjax.sweep.overrides import Flag

USAGE = usage("""\
Text out of a model, by the engine and under the strategy of a config.

  python -m pdjax.generate --config=smollm2_chat --prompt='What is a cache?'

  --config=FILE            as in pdjax.experiment; its model, cluster, strategy,
                           sampling and engine are used. Its workload is the
                           prompts, all at once; workload.stop alone is read
                           (default: eos for real weights). Sweep, SLO and the
                           check of tokens are left out
  --config.FIELD=VALUE     sets one field, e.g. --config.cluster.split=1P1D
  --prompt=TEXT            what to answer; '-' reads standard input. Give it
                           again for more prompts: they are served together and
                           shown one after the other
  --prompt_file=FILE       a prompt from a file
  --chat, --nochat         as a user's message in the model's chat template, or
                           as text to go on with (default: --chat where the
                           tokenizer has a template)
  --max_tokens=N           most tokens of an answer (default: 128)
""", """\
Answers go to standard output as they are made, everything else to standard
errors. Without a tokenizer a prompt's bytes are its token ids, and ids are
shown.
""", "answered", {1: "the model's logits are no numbers", 130: "interrupted"})

_SWITCHES = {"chat": True, "nochat": False}
_VALUED = ("config", "prompt", "prompt_file", "max_tokens")
_NAMES = (*_VALUED, *_SWITCHES, "help")


@dataclasses.dataclass(kw_only=True)
class Asked:
  """What was asked on the command line."""

  config: str | None = None
  overrides: list[Flag] = dataclasses.field(default_factory=list)
  prompts: list[tuple[str, str]] = dataclasses.field(default_factory=list)
  """(`prompt` or `prompt_file`, value) each."""
  chat: bool | None = None
  max_tokens: int = 128
  help: bool = False
  said: set[str] = dataclasses.field(default_factory=set)
  """Flags that may stand once only, as far as they are given."""


def parse(arguments: Sequence[str]) -> tuple[Asked, list[str]]:
  """The flags, and a line for each argument that is not understood."""
  asked, errors = Asked(), []
  rest, names = list(arguments), []
  while rest:
    argument = rest.pop(0)
    name, equals, text = argument.removeprefix("--").partition("=")
    names.append(name)
    if argument in ("-h", "--help"):
      asked.help = True
    elif not argument.strip():
      errors.append(EMPTY)
    elif not argument.startswith("--"):
      errors.append(f"{argument}: not a flag; prompts are given as --prompt=…")
    elif name in _SWITCHES and not equals:
      _switch(asked, name, errors)
    elif name not in _VALUED and not name.startswith("config."):
      errors.append(unknown(f"--{name}", _NAMES))
    elif not equals and (not rest or rest[0].startswith("--")):
      errors.append(f"--{name}: needs a value, as in --{name}=VALUE")
    else:
      _take(asked, name, text if equals else rest.pop(0), errors)
  return asked, errors + twice(names, ADDED)


def _take(asked: Asked, name: str, text: str, errors: list[str]) -> None:
  if name.startswith("config."):
    asked.overrides.append((name.removeprefix("config."), text))
  elif not text:
    errors.append(f"--{name}: needs a value")
  elif name.startswith("prompt"):
    asked.prompts.append((name, text))
  elif name in asked.said:
    errors.append(f"--{name}: given twice; say it once")
  elif name == "config":
    asked.config = text
  else:
    _count(asked, text, errors)
  asked.said.add(name)


def _switch(asked: Asked, name: str, errors: list[str]) -> None:
  if asked.chat not in (None, _SWITCHES[name]):
    errors.append("--chat: given with --nochat; say one of them")
  asked.chat = _SWITCHES[name]


def _count(asked: Asked, text: str, errors: list[str]) -> None:
  if text.isdecimal() and text.isascii() and 1 <= int(text) <= 10**6:
    asked.max_tokens = int(text)
  else:
    errors.append(f"--max_tokens: must be from 1 to 1000000, got {text!r}")
