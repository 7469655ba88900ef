"""The flags that a command has beside those of `pdjax.experiment`."""

from collections.abc import Sequence


def taken(
    arguments: Sequence[str], values: Sequence[str], switches: Sequence[str]
) -> tuple[dict[str, str], list[str], list[str]]:
  """This command's own flags, the other arguments, mistakes.

  Args:
    arguments: of the command line.
    values: names of flags that need one, `--NAME=VALUE`.
    switches: names of flags that need none.
  """
  own: dict[str, str] = {}
  rest, errors = [], []
  for argument in arguments:
    name, equals, text = argument.removeprefix("--").partition("=")
    mine = argument.startswith("--") and name in (*values, *switches)
    if mine and name in own:
      errors.append(f"--{name}: given twice; say it once")
    if not mine or (name in switches and equals):
      rest.append(argument)
      continue
    own[name] = text
    if name in values and not text:
      errors.append(f"--{name}: needs a value, as in --{name}=VALUE")
  return own, rest, errors
