"""Some of the results in a folder, by what their configs say."""

from collections.abc import Sequence

from pdjax.config import ConfigError
from pdjax.results.found import Result
from pdjax.sweep.only import only_of, select

Only = Sequence[tuple[str, str, str]]
"""(flag, field, values) each; a flag's fields must all be met."""


def selected(results: Sequence[Result], only: Only) -> list[Result]:
  """The results that flags such as `--only` choose.

  Raises:
    ConfigError: no such field, or none has such a value.
  """
  chosen, errors = list(results), []
  for flag in dict.fromkeys(flag for flag, _, _ in only):
    wrong: list[str] = []
    wanted = only_of([(p, v) for f, p, v in only if f == flag], wrong)
    if not wrong:
      chosen, wrong = select(chosen, wanted)
    errors += [line.replace("--only", f"--{flag}", 1) for line in wrong]
  if errors:
    raise ConfigError(errors)
  return chosen
