"""A run's laws are checked at its end, and progress is told in between."""

import pytest

from pdjax import schema
from pdjax.cli import watch
from pdjax.cli.cell import LawBroken, check_laws
from pdjax.cli.plant import plant_of, sizes_of
from pdjax.reads import resolved
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.workload.build import build


@pytest.fixture
def served():
  run = resolved(
      schema.run_from_tree({
          "cluster": {"chip": "h100-sxm"},
          "workload": {"rate": 50.0, "num_requests": 5, "output": {"mean": 3}},
      })
  )
  workload = build(run.workload)
  plant = plant_of(run, workload, print)
  world = world_of(run, plant.pool_pages)
  told = []
  log = serve(
      policy_of(run), plant.backend, world,
      watch.Watch(len(workload.requests), told.append),
  )
  return run, workload, world, log, told


def test_a_good_run_keeps_the_laws(served):
  _, workload, world, _, told = served
  check_laws(world, workload)
  assert told == []  # too short to say anything


def test_a_lost_page_is_seen(served):
  _, workload, world, _, _ = served
  world.workers[0].pool.take(1)
  with pytest.raises(LawBroken, match="law 2: worker 0 ends with"):
    check_laws(world, workload)


def test_a_lost_request_is_seen(served):
  _, workload, world, _, _ = served
  del world.progress[4]
  with pytest.raises(LawBroken, match="law 1: 5 requests sent, 4 arrived"):
    check_laws(world, workload)


def test_sizes_are_known_without_a_backend(served):
  run, workload, _, _, _ = served
  plant = plant_of(run, workload, print)
  assert sizes_of(run) == (plant.pool_pages, plant.staging_pages)


def test_a_simulated_plant_says_what_each_worker_has(served):
  run, workload, _, _, _ = served
  plant = plant_of(run, workload, print)
  (worker,) = plant.conditions["workers"]
  assert worker["pool_pages"] == plant.pool_pages[0]
  assert worker["kv_tokens"] == 16 * plant.pool_pages[0]
  assert worker["link_bytes_per_s"] > 1e10
  assert worker["link_latency_s"] == 20e-6


class Clock:
  now = 0.0

  def monotonic(self):
    return self.now


@pytest.fixture
def clock(monkeypatch):
  clock = Clock()
  monkeypatch.setattr(watch, "time", clock)
  return clock


def test_progress_is_told_ever_less_often(served, clock):
  world = served[2]
  told = []
  watching = watch.Watch(7, told.append)
  for second in range(100):
    clock.now = float(second)
    watching(None, world)
  assert told[0] == "5 of 7 requests, 2 s"
  seconds = [int(line.split()[-2]) for line in told]
  assert seconds == [2, 5, 10, 20, 35, 50, 65, 80, 95]


def test_throttle_drops_what_comes_too_soon(clock):
  told = []
  throttled = watch.Throttle(told.append)
  for second in (10, 11, 12, 13, 14, 16):
    clock.now = float(second)
    throttled(str(second))
  assert told == ["10", "13", "16"]


@pytest.mark.parametrize(
    ("more", "note"),
    [
        (("--config.workload.max_tokens=2",), "10 of 10 answers cut by"),
        (("--config.workload.max_tokens=2",
          "--config.workload.deadline_s=1e-4"), None),
        (("--config.workload.max_tokens=9",), None),
        ((), None),
    ],
)
def test_answers_that_max_tokens_cuts_are_told(command, more, note):
  status, out, _ = command("--config.workload.output.kind=fixed", *more)
  assert status == 0
  told = [line for line in out.splitlines() if "cut by max_tokens" in line]
  assert len(told) == (note is not None)
  assert note is None or note in told[0]
