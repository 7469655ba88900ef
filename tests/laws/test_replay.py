"""Law 6: the recorded events give the recorded commands again."""

import pytest
from hypothesis import given, settings

from pdjax.eventfile import read_log, write_log
from pdjax.events import Log, Reserve, StepEnded
from pdjax.schedule.replay import replay
from pdjax.simulate.stepcosts import policy_for
from tests.laws.cluster import (
  configs,
  load_of,
  loads,
  run_config,
  serve_load,
  world_for,
)


@settings(max_examples=40, deadline=None)
@given(configs(), loads())
def test_every_command_comes_again(run, load):
  log, _ = serve_load(run, load)
  result = replay(log, policy_for(run), world_for(run))
  assert result.identical == result.commands == len(log.commands())
  assert not result.difference


def test_also_from_the_file(tmp_path):
  run = run_config("disaggregated")
  log, _ = serve_load(run, load_of((0, 90, 20), (3, 40, 20), (9, 10, 1)))
  write_log(log, tmp_path / "events.parquet")
  read = read_log(tmp_path / "events.parquet")
  assert list(read) == list(log)
  result = replay(read, policy_for(run), world_for(run))
  assert result.identical == result.commands > 0 and not result.difference


def test_another_policy_diverges_and_says_where():
  run = run_config("chunked")
  log, _ = serve_load(run, load_of((0, 90, 20)))
  result = replay(log, policy_for(run_config("continuous")), world_for(run))
  assert result.identical < result.commands
  assert "recorded Step" in result.difference


@pytest.mark.parametrize("kind", [Reserve, StepEnded])
def test_a_log_with_a_hole_diverges(kind):
  run = run_config("continuous")
  log, _ = serve_load(run, load_of((0, 90, 20), (3, 40, 20)))
  holed, skipped = Log(), False
  for at_ps, entry in log:
    if isinstance(entry, kind) and not skipped:
      skipped = True
      continue
    holed.append(at_ps, entry)
  result = replay(holed, policy_for(run), world_for(run))
  assert result.difference
