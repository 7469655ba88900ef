"""The command line of `python -m pdjax.experiment`, parsed by hand.

Flags are spelt as absl spells them. Unlike absl's ml_collections flags, a
mistake is one line with the nearest name, and all of them are shown together.
Values are kept as text: their types are the schema's business.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from pdjax.cli.arguments import EMPTY, Said, twice, unknown, usage
from pdjax.sweep.overrides import Flag

USAGE = usage("""\
Runs one experiment: every cell of a config's sweep, then the comparison.

  python -m pdjax.experiment --config=configs/quickstart.py

  --config=FILE            configs/x.py, configs/x, or x: a file, or a config
                           that comes with the package
  --config.FIELD=VALUE     sets one field, e.g. --config.strategy.chunk_size=256
  --sweep='FIELD=VALUES'   runs one cell a value; give it again for a grid.
                           VALUES: 1,2,4 or log(1,64,7), lin(0,1,5),
                           range(0,10,2), mixed at will. 'repeat=0,1' runs
                           equal cells again (noise floor)
  --seeds=0-4              values of workload.seed, also 0,2,5-7
  --sample=N               draws N points (Sobol) from the axes that are spans,
                           as in --sweep='workload.rate=log(1,64)'
  --where='CONDITION'      keeps the cells that meet it, as in
                           --where='strategy.chunk_size <= 64 * workload.rate';
                           give it again for more
  --only='FIELD=V1,V2'     runs only the cells that have one of these values;
                           --only='case=NAME' one case; give it again for more
  --output_dir=DIR         where results go (default: results)
  --rerun                  runs also the cells that are done
  --retry_failed           runs also the cells that would fail again
  --fail_fast              stops at the first cell that fails
  --profile                also leaves a JAX trace of a few steps in the folder
                           of each run, which must be on real devices. Cells
                           that are done have none made: add --rerun
  --order=ORDER            given or shuffled (default: measured cells shuffled,
                           so that drift of the machine is no trend)
  --shard=I/N              runs the I-th of N shares of the cells, I from 1 to N
  --cell=ID                runs only the cells whose ids begin so (--dry_run
                           shows them); give it again for more
  --launcher=NAME          who runs the cells: local (default), ray, slurm, or
                           slurm_local (Slurm's jobs on this machine)
  --launcher_options=O     of ray: address=..., num_cpus=..., num_gpus=...; of
                           slurm: partition=..., timeout_min=..., and the like
  --print_commands         shows a command for each cell that is not done; with
                           --rerun, for each cell
  --dry_run                shows the cells and which of them are done
  --selftest_generator     checks that arrivals come as configured (rate, cv,
                           users, lag of the client) and stops
  --print_config           shows every cell's resolved config and stops
  --list_configs           shows the configs there are and what they answer
""", """\
In a config with blocks, FIELD starts with the block's name. A field takes
`none` (not said), numbers, strings without quotes, tuples as 128,256. Cells
that are done are not run again. After a mistake nothing has been written.
""", "all cells done", {1: "a cell failed"})

_SWITCHES = (
    "rerun", "retry_failed", "fail_fast", "profile", "print_commands",
    "dry_run", "print_config", "list_configs", "selftest_generator", "help",
)
_NAMES = (
    "config", "sweep", "seeds", "sample", "where", "only", "output_dir",
    "order", "shard", "cell", "launcher", "launcher_options",
    *_SWITCHES,
)
_ORDERS = ("given", "shuffled")
ADDED = ("sweep", "where", "only", "cell", "prompt", "prompt_file", "help")
"""Flags that may be given again."""
_PAIRS = {
    "sweep": "FIELD=VALUES, as in --sweep='strategy.chunk_size=128,256'",
    "only": "FIELD=VALUES, as in --only='cluster.split=2P2D'",
}
_TRUTH = {"true": True, "1": True, "false": False, "0": False}


@dataclasses.dataclass(kw_only=True)
class Flags:
  """What was asked on the command line."""

  config: str | None = None
  overrides: list[Flag] = dataclasses.field(default_factory=list)
  sweeps: list[Flag] = dataclasses.field(default_factory=list)
  seeds: str | None = None
  sample: str | None = None
  where: list[str] = dataclasses.field(default_factory=list)
  only: list[Flag] = dataclasses.field(default_factory=list)
  output_dir: str = "results"
  order: str | None = None
  shard: str | None = None
  """Text; see `share`."""
  cells: list[str] = dataclasses.field(default_factory=list)
  """Beginnings of ids."""
  launcher: str = "local"
  launcher_options: str | None = None
  rerun: bool = False
  retry_failed: bool = False
  fail_fast: bool = False
  profile: bool = False
  print_commands: bool = False
  dry_run: bool = False
  selftest_generator: bool = False
  print_config: bool = False
  list_configs: bool = False
  help: bool = False

  @property
  def share(self) -> tuple[int, int] | None:
    """`--shard=i/n` as numbers.

    Raises:
      ValueError: it is something else, or i is not from 1 to n.
    """
    if self.shard is None:
      return None
    index, count = map(int, self.shard.split("/"))
    if not 1 <= index <= count:
      raise ValueError(self.shard)
    return index, count

  @property
  def quiet(self) -> bool:
    """Whether the output is for another program."""
    return self.print_config or self.print_commands


def parse(arguments: Sequence[str]) -> tuple[Flags, list[str]]:
  """The flags, and a line for each argument that is not understood."""
  flags, errors = Flags(), []
  rest, names = list(arguments), []
  while rest:
    argument = rest.pop(0)
    if argument in ("-h", "-?"):
      flags.help = True
    elif not argument.strip():
      errors.append(EMPTY)
    elif not argument.startswith("--"):
      errors.append(_stray(argument))
    else:
      names.append(argument[2:].partition("=")[0])
      _take(flags, argument[2:], rest, errors)
  return flags, errors + twice(names, ADDED) + list(_mistakes(flags))


def beside(said: Said) -> tuple[Flags, list[str]]:
  """The flags that a command hands on, and all mistakes of its command line."""
  flags, errors = parse(said.handed_on)
  errors = said.errors + errors
  return flags, errors + [_stray(argument) for argument in said.given]


def _mistakes(flags: Flags) -> Iterator[str]:
  if flags.order not in (None, *_ORDERS):
    wanted = " or ".join(_ORDERS)
    yield f"--order={flags.order}: expected {wanted}"
  try:
    _ = flags.share
  except ValueError:
    yield (
        f"--shard={flags.shard}: expected I/N with I from 1 to N, as in"
        " --shard=1/4"
    )


def _take(
    flags: Flags, argument: str, rest: list[str], errors: list[str]
) -> None:
  name, equals, text = argument.partition("=")
  if name in _SWITCHES or name.removeprefix("no") in _SWITCHES:
    _switch(flags, name, text if equals else None, errors)
    return
  if name not in _NAMES and not name.startswith("config."):
    errors.append(unknown(f"--{argument}", _NAMES))
    return
  if not equals:
    if not rest or rest[0].startswith("--"):
      errors.append(f"--{name}: needs a value, as in --{name}=VALUE")
      return
    text = rest.pop(0)
  if name in ("sweep", "only"):
    _pair(flags, name, text, errors)
  elif name.startswith("config."):
    _override(flags, name.removeprefix("config.").strip(), text, errors)
  elif not text.strip():
    errors.append(f"--{name}: needs a value")
  elif name == "cell":
    flags.cells.append(text.strip())
  elif name == "where":
    flags.where.append(text)
  else:
    setattr(flags, name, text)


def _switch(
    flags: Flags, name: str, text: str | None, errors: list[str]
) -> None:
  if name not in _SWITCHES:
    name, on = name.removeprefix("no"), False
  else:
    on = True if text is None else _TRUTH.get(text.lower())
  if on is None:
    errors.append(f"--{name}: expected true or false, got {text!r}")
  else:
    setattr(flags, name, on)


def _override(flags: Flags, path: str, text: str, errors: list[str]) -> None:
  if path:
    flags.overrides.append((path, text))
  else:
    errors.append(
        f"--config.={text}: needs a field, as in"
        " --config.strategy.chunk_size=256"
    )


def _pair(flags: Flags, name: str, text: str, errors: list[str]) -> None:
  """FIELD=VALUES of `--sweep` or `--only`."""
  path, equals, values = text.partition("=")
  path = path.strip().removeprefix("config.")
  if path and equals:
    pairs = flags.sweeps if name == "sweep" else flags.only
    pairs.append((path, values))
  else:
    errors.append(f"--{name}={text}: expected {_PAIRS[name]}")


def _stray(argument: str) -> str:
  if argument.startswith("-"):
    return unknown(argument, _NAMES)
  return f"{argument}: not a flag; did you mean --config={argument}?"
