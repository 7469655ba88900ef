"""Recorded runs replay from their folders."""

import sys

from pdjax.cli.replay import main


def test_every_run_of_an_experiment_replays(command, folder, capsys):
  command("--sweep=strategy.kind=continuous,chunked")
  capsys.readouterr()
  assert main(["results/x"]) == 0
  lines = capsys.readouterr().out.splitlines()
  assert len(lines) == 2
  for line in lines:
    done, _, total = line.partition(": ")[2].split()[:3]
    assert done == total and int(total) > 10


BLOCKS = """
import x

def get_config():
  return {"blocks": {"one": x.get_config(), "two": x.get_config()}}
"""


def test_all_blocks_of_a_config_replay(command, folder, capsys, monkeypatch):
  monkeypatch.syspath_prepend(folder)
  monkeypatch.delitem(sys.modules, "x", raising=False)
  (folder / "b.py").write_text(BLOCKS)
  assert command(config="b")[0] == 0
  assert main(["results/b"]) == 0
  lines = capsys.readouterr().out.splitlines()
  assert [line.partition("/")[0] for line in lines] == ["one", "two"]


def test_another_policy_does_not_replay(command, folder, capsys):
  command()
  (run,) = (folder / "results/x/runs").iterdir()
  config = run / "config.json"
  config.write_text(
      config.read_text().replace('"split": "2C"', '"split": "1C"')
  )
  assert main([str(run)]) == 1
  assert "first difference: " in capsys.readouterr().out


def test_no_run_is_one_line(folder, capsys):
  assert main(["nowhere"]) == 2
  assert capsys.readouterr().err == (
      "nowhere: not a run's folder: no config.json\n"
  )
