"""Recorded runs replay from their folders."""

import shutil
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
  assert capsys.readouterr().err == "nowhere: no such folder\n"
  assert main([str(folder)]) == 2
  assert capsys.readouterr().err == (
      f"{folder}: not a run's folder: no config.json\n"
  )


def test_bad_folders_are_one_line_each(command, folder, capsys):
  command("--sweep=strategy.kind=continuous,chunked")
  runs = sorted((folder / "results/x/runs").iterdir())
  (folder / "results/x/runs/00-empty").mkdir()
  for name, text in (
      ("01-not-json", '{"cluster": '),
      ("02-a-list", "[]"),
      ("03-a-wrong-field", '{"cluster": {"splitt": 3}}'),
      ("04-a-wrong-value", '{"cluster": {"split": "2X"}}'),
      ("05-out-of-range", '{"strategy": {"max_num_seqs": 0}}'),
      ("06-not-text", "\udcff"),
  ):
    bad = folder / "results/x/runs" / name
    bad.mkdir()
    (bad / "config.json").write_text(text, errors="surrogateescape")
  events = (runs[0] / "events.parquet").read_bytes()
  _copy(runs[0], "07-cut", events[: len(events) // 2])
  middle = len(events) // 3
  damaged = events[:middle] + bytes(64) + events[middle + 64 :]
  _copy(runs[0], "08-damaged", damaged)
  capsys.readouterr()
  assert main(["results/x", "nowhere"]) == 2
  told = capsys.readouterr()
  assert len(told.out.splitlines()) == 2  # the two good ones
  lines = told.err.splitlines()
  assert len(lines) == 10
  for number, (line, words) in enumerate(zip(lines[:9], (
      "no config.json", "not a JSON object", "not a JSON object", "splitt",
      "'2X' is not a split", "strategy.max_num_seqs: must be from 1",
      "not a JSON object", "not a readable event file", "event file",
  ), strict=True)):
    assert f"runs/0{number}-" in line and words in line
  assert lines[9] == "nowhere: no such folder"


def _copy(run, name, events):
  copy = run.parent / name
  shutil.copytree(run, copy)
  (copy / "events.parquet").write_bytes(events)


def test_a_policy_that_raises_is_a_difference(command, folder, capsys):
  rule = folder / "their_rule.py"
  rule.write_text(RULE)
  command("--config.strategy.kind=their_rule:Rule")
  sys.modules.pop("their_rule")
  rule.write_text(RULE.replace("pass", "raise LookupError('no more')"))
  capsys.readouterr()
  assert main(["results/x"]) == 1
  said = capsys.readouterr().out.splitlines()[1]
  assert said == (
      "  first difference: their_rule.py:5: LookupError: no more"
  )


def test_a_policy_that_ends_the_process_is_a_mistake(command, folder, capsys):
  rule = folder / "my_rule.py"
  rule.write_text(RULE)
  command("--config.strategy.kind=my_rule:Rule")
  sys.modules.pop("my_rule")
  rule.write_text(RULE.replace("pass", "__import__('os')._exit(0)"))
  capsys.readouterr()
  assert main(["results/x"]) == 2
  assert "'my_rule:Rule': SystemExit: os._exit(0)" in capsys.readouterr().err


RULE = """
from pdjax.schedule.batching import Continuous
class Rule(Continuous):
  def batch(self, worker, world):
    pass
    yield from super().batch(worker, world)
"""
