"""The command line as it is typed, and every mistake in it."""

import pytest

from pdjax.cli.flags import parse


def test_flags_are_read_in_both_spellings():
  flags, errors = parse([
      "--config=x", "--config.strategy.chunk_size=256",
      "--config.workload.rate", "2", "--sweep=a.b=1,2",
      "--sweep", "config.c=none", "--output_dir=out", "--dry_run",
  ])
  assert errors == []
  assert flags.config == "x" and flags.output_dir == "out" and flags.dry_run
  assert flags.overrides == [
      ("strategy.chunk_size", "256"), ("workload.rate", "2"),
  ]
  assert flags.sweeps == [("a.b", "1,2"), ("c", "none")]


@pytest.mark.parametrize(
    ("argument", "on"),
    [("--dry_run", True), ("--nodry_run", False), ("--dry_run=true", True),
     ("--dry_run=False", False)],
)
def test_switches_are_spelt_as_absl_spells_them(argument, on):
  flags, errors = parse(["--config=x", argument])
  assert (flags.dry_run, errors) == (on, [])


@pytest.mark.parametrize(
    ("argument", "line"),
    [
        ("--confg=x", "--confg: no such flag; did you mean '--config'?"),
        ("--dryrun", "--dryrun: no such flag; did you mean '--dry_run'?"),
        ("--zzz", "--zzz: no such flag; see --help"),
        ("x", "x: not a flag; did you mean --config=x?"),
        ("-config=x", "-config=x: flags have two dashes: --config=x"),
        ("--config", "--config: needs a value, as in --config=VALUE"),
        ("--config=", "--config: needs a value"),
        ("--dry_run=maybe", "--dry_run: expected true or false, got 'maybe'"),
        ("--config.=3", "--config.=3: needs a field, as in"
         " --config.strategy.chunk_size=256"),
        ("--only=x", "--only=x: expected FIELD=VALUES, as in"
         " --only='cluster.split=2P2D'"),
        ("--output_dir= ", "--output_dir: needs a value"),
        ("--sweep=128", "--sweep=128: expected FIELD=VALUES, as in"
         " --sweep='strategy.chunk_size=128,256'"),
    ],
)
def test_a_mistake_is_one_line(argument, line):
  assert parse([argument])[1] == [line]


def test_what_can_be_said_once_is_refused_twice():
  assert parse(["--config=x", "--config=y"])[1] == [
      "--config: given twice; say it once"
  ]
  for name in ("rerun", "config=x", "order=given", "shard=1/2"):
    assert parse([f"--{name}", f"--{name}"])[1] == [
        f"--{name.partition('=')[0]}: given twice; say it once"
    ]
  assert parse(["--output_dir=results", "--output_dir=b"])[1] == [
      "--output_dir: given twice; say it once"
  ]


def test_only_is_a_field_with_values():
  flags, errors = parse(["--only=case=a b", "--only=config.cluster.tp=2"])
  assert (flags.only, errors) == ([("case", "a b"), ("cluster.tp", "2")], [])


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "a/b", "1/2/3", "1/0"])
def test_a_share_is_one_of_so_many(text):
  _, (line,) = parse(["--config=x", f"--shard={text}"])
  assert line.startswith(f"--shard={text}: expected I/N with I from 1 to N")
  assert parse(["--config=x", "--shard=4/4"])[0].share == (4, 4)


def test_an_order_is_given_or_shuffled():
  assert parse(["--order=random"])[1] == [
      "--order=random: expected given or shuffled"
  ]
  assert parse(["--order=given"])[0].order == "given"


def test_cells_add_up():
  flags, errors = parse(["--cell=a", "--cell", "b", "--cell="])
  assert flags.cells == ["a", "b"] and errors == ["--cell: needs a value"]


def test_all_mistakes_are_told():
  assert len(parse(["--a", "b", "--dryrun", "--sweep=1"])[1]) == 4
