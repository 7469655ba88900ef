"""Every command refuses the same mistakes, in the same words, a line each."""

import importlib

import pytest

from pdjax.cli import arguments
from pdjax.cli.arguments import EMPTY, Grammar

CONFIG = "--config=llama70b_h100"
COMMANDS = {
    "fidelity": ("fidelity", ".", "calibration", ""),
    "workload": ("workload", "trace.csv", "kind", "skip_bad_rows"),
    "calibrate": ("calibrate", CONFIG, "out", ""),
    "report": ("report", ".", "figures", ""),
    "compare": ("compare", ".", "allow", "json"),
    "export": ("export", ".", "format", "nodetailed"),
    "diagnose": ("diagnose", ".", "", "json"),
    "replay": ("replay", ".", "", ""),
    "accelerate": ("accelerate", ".", "", ""),
    "preflight": ("aot", CONFIG, "target", "all_buckets"),
}
"""By name: its module, what it is given, a flag with a value, a switch."""
TAKES_VALUE = [name for name, (_, _, value, _) in COMMANDS.items() if value]
TAKES_NONE = [name for name, (*_, switch) in COMMANDS.items() if switch]


@pytest.fixture
def said(tmp_path, monkeypatch, capsys):
  """Runs a command; returns its status, output, and lines of errors."""
  monkeypatch.chdir(tmp_path)

  def run(name, *more):
    module, given, *_ = COMMANDS[name]
    main = importlib.import_module(f"pdjax.cli.{module}").main
    capsys.readouterr()
    status = main([given, *more])
    out, err = capsys.readouterr()
    return status, out, err.splitlines()

  return run


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_flag_is_refused(said, name):
  status, out, lines = said(name, "--hlp")
  assert (status, out) == (2, "")
  assert "--hlp: no such flag; did you mean '--help'?" in lines
  status, out, lines = said(name, "--zzzzzz=1")
  assert (status, out) == (2, "")
  assert "--zzzzzz: no such flag; see --help" in lines


@pytest.mark.parametrize("name", TAKES_VALUE)
def test_a_flag_needs_its_value_and_is_said_once(said, name):
  flag = COMMANDS[name][2]
  line = f"--{flag}: needs a value, as in --{flag}=VALUE"
  for mistake in (f"--{flag}", f"--{flag}=", f"--{flag}= "):
    status, out, lines = said(name, mistake)
    assert (status, out) == (2, "") and lines.count(line) == 1
  status, out, lines = said(name, f"--{flag}s=1")
  assert (status, out) == (2, "")
  assert f"--{flag}s: no such flag; did you mean '--{flag}'?" in lines
  if name not in ("compare", "fidelity"):  # theirs add up
    status, out, lines = said(name, f"--{flag}=a", f"--{flag}=a")
    assert (status, out) == (2, "")
    assert f"--{flag}: given twice; say it once" in lines


@pytest.mark.parametrize("name", TAKES_NONE)
def test_a_switch_takes_no_value(said, name):
  flag = COMMANDS[name][3]
  for text in ("no", "false", "1", ""):
    status, out, lines = said(name, f"--{flag}={text}")
    assert (status, out) == (2, "")
    assert f"--{flag}: takes no value" in lines
  status, out, lines = said(name, f"--{flag}", f"--{flag}")
  assert (status, out) == (2, "")
  assert f"--{flag}: given twice; say it once" in lines
  status, out, lines = said(name, f"-{flag}")
  assert (status, out) == (2, "")
  assert f"-{flag}: flags have two dashes: --{flag}" in lines


@pytest.mark.parametrize("name", [*COMMANDS, "experiment", "generate"])
def test_an_empty_argument_is_no_folder(said, name, monkeypatch):
  monkeypatch.setitem(COMMANDS, "experiment", ("experiment", CONFIG))
  monkeypatch.setitem(COMMANDS, "generate", ("generate", CONFIG))
  for text in ("", " "):
    status, out, lines = said(name, text)
    assert status == 2 and lines.count(EMPTY) == 1
    assert out == "" or name == "experiment"  # which says what was asked


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_how_it_is_called_and_how_it_ends(said, name):
  for flag in arguments.HELP:
    status, out, lines = said(name, flag)
    assert (status, lines) == (0, [])
    assert f"  python -m pdjax.{name}" in out
    assert f"pdjax.{name}" in out.split()
    shown = [line for line in out.splitlines() if "shows this" in line]
    assert len(shown) == 1 and shown[0].startswith("  --help ")
    words = " ".join(out.split())
    assert " Exit status: 0 " in words and ", 2 a mistake in what" in words
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("name", ["calibrate", "preflight"])
def test_flags_of_an_experiment_that_change_nothing_are_refused(said, name):
  for flag in ("--rerun", "--shard=1/2", "--launcher=ray", "--output_dir=x"):
    status, out, lines = said(name, flag)
    assert (status, out) == (2, "")
    assert any(
        line.startswith(f"{flag.partition('=')[0]}: no such flag")
        for line in lines
    )


def test_values_may_be_the_next_argument():
  grammar = Grammar(values=("out",), added=("only",), switches=("json",))
  said = arguments.read(
      ["a", "--out", "b", "--only=x=1", "--json", "--only", "y=2", "c"], grammar
  )
  assert said.given == ["a", "c"] and said.errors == []
  assert said.value("out") == "b" and said.all("only") == ["x=1", "y=2"]
  assert said.switches == {"json"} and not said.help
  assert arguments.read(["--out", "--json"], grammar).errors == [
      "--out: needs a value, as in --out=VALUE"
  ]
