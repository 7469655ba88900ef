"""Recorded runs replay from their folders."""

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
