"""`python -m pdjax.experiment`: a config's cells, run and compared.

Everything that can be checked is checked before anything is written. Modules
that take time to import are imported when they are needed, so that `--help`
and mistakes in flags are answered at once.
"""

import sys
from collections.abc import Sequence

from pdjax.cli import command
from pdjax.cli import flags as flags_module
from pdjax.cli.command import FAILED, OK
from pdjax.config import ConfigError


def main(arguments: Sequence[str]) -> int:
  """Does what the command line asks; returns the exit status."""
  return command.answer(
      _kept, arguments, "interrupted; finished cells are kept"
  )


def _kept(arguments: Sequence[str]) -> int:
  try:
    return _main(arguments)
  except OSError as error:  # such as a full disk
    print(f"{error}; finished cells are kept", file=sys.stderr)
    return FAILED


def _main(arguments: Sequence[str]) -> int:
  flags, errors = flags_module.parse(arguments)
  if flags.help:
    print(flags_module.USAGE, end="")
    return OK
  if flags.list_configs and not errors:
    from pdjax.cli.listing import listing

    print(listing())
    return OK
  if flags.config is None:
    errors.append("--config: say which, as in --config=x; see --list_configs")
    raise ConfigError(errors)
  from pdjax.cli import plan, session

  planned = plan.plan(flags, errors)
  if flags.print_config:
    print(plan.as_json(planned))
    return OK
  if flags.selftest_generator:
    return _selftest(planned)
  if flags.print_commands:
    session.show_commands(planned, flags, arguments)
    return OK
  if flags.dry_run:
    session.show(planned, flags)
    return OK
  return FAILED if session.run(planned, flags) else OK


def _selftest(planned: list) -> int:
  from pdjax.cli.selftest import selftest

  good = True
  for check in selftest(planned):
    print(f"{'ok  ' if check.good else 'BAD '} {check.text}", flush=True)
    good = good and check.good
  return OK if good else FAILED


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
