"""What adaptive_chunk is told a step takes."""

import dataclasses
import json

import pytest

from pdjax.config import ConfigError
from pdjax.schedule.cost import StepShape
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.fittedcost import COPIES, PRICES
from pdjax.simulate.profiles.calibrated import VERSION
from pdjax.simulate.stepcosts import step_costs_of
from tests.laws.cluster import load_of, run_config, serve_load

SHAPE = StepShape(((20, 0),), 1, 50)


def run_with(path=None, **settings):
  run = run_config("adaptive_chunk", "2C", kv_tokens=2000, **settings)
  strategy = dataclasses.replace(
      run.strategy, step_costs=str(path) if path else None
  )
  return dataclasses.replace(run, strategy=strategy)


@pytest.fixture(name="path")
def _path(tmp_path):
  """A calibration that finds each prompt token dear."""
  prices = dict.fromkeys(PRICES, 0) | {"prompt_token_ps": 10**9}
  tree = {
      "pdjax.calibration": VERSION, "model": "llama-2-7b", "tp": 1,
      "prices": prices, "copies": dict.fromkeys(COPIES, 0), "sharing": {},
      "kv_bytes_per_token": 1,
      "padding": {},
      "link": {"bandwidth_bytes_per_s": 10**9, "latency_s": 0.0},
      "range": {
          "prompt_tokens": 100, "cached_tokens": 100, "sequences": 8,
          "context_tokens": 1000,
      },
      "accuracy": "made up",
  }
  path = tmp_path / "mine.json"
  path.write_text(json.dumps(tree))
  return path


def test_only_adaptive_chunks_are_told():
  assert not step_costs_of(run_config("chunked"))


def test_a_simulated_run_is_told_what_it_runs_on():
  run = run_with()
  told, true = step_costs_of(run), cluster_of(run).costs
  assert [c.step(SHAPE) for c in told] == [c.step(SHAPE) for c in true]


def test_a_calibration_is_believed_instead(path):
  told = step_costs_of(run_with(path))
  assert len(told) == 2
  assert told[0].step(SHAPE) != cluster_of(run_with()).costs[0].step(SHAPE)
  load = load_of((0, 30, 40), (1, 30, 40), (50_000, 140, 5))
  logs = [list(serve_load(run_with(one), load)[0]) for one in (None, path)]
  assert logs[0] != logs[1]


def test_real_devices_need_a_file():
  run = run_with()
  backend = dataclasses.replace(run.backend, kind="jax")
  with pytest.raises(ConfigError, match="strategy.step_costs"):
    step_costs_of(dataclasses.replace(run, backend=backend))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "llama-2-13b"}, "it is of llama-2-13b tp 1"),
        ({"tp": 2}, "it is of llama-2-7b tp 2"),
        ({"pdjax.calibration": 9}, "calibration format 9"),
    ],
)
def test_another_files_mistake_is_one_line(path, change, words):
  path.write_text(json.dumps(json.loads(path.read_text()) | change))
  with pytest.raises(ConfigError, match=words) as told:
    step_costs_of(run_with(path))
  (line,) = told.value.errors
  assert line.startswith(f"strategy.step_costs: {path}: ")
