"""Elastic placement: who changes roles, when, and how it drains."""

import dataclasses

import pytest

from pdjax.config import Pool, RoleChange
from pdjax.events import Arrived, Relabel, Route, Step, Transfer
from tests.laws.cluster import US, load_of, run_config, serve_load

S = 10**12
QUICK = RoleChange(queue_tokens=300, window_s=0.05, pause_s=0.5)

PROMPTS = [(i * 2_000, 140, 2) for i in range(60)]
"""Far more than one P worker keeps up with, and hardly a decode."""

ANSWERS = [(i * 12_000, 16, 180) for i in range(60)]
"""Decodes that fill a pool of 512 tokens with a few, and hardly a prompt."""


def changes(run, rows, watch=None):
  log, world = serve_load(run, load_of(*rows), watch=watch)
  assert world.unfinished == 0
  found = [(at, e) for at, e in log if isinstance(e, Relabel)]
  return [(at, e.worker, e.role) for at, e in found], log


def elastic(split, rule=QUICK, **settings):
  return run_config("elastic", split, elastic=rule, **settings)


def test_a_long_queue_turns_a_decode_worker():
  (first, *_), log = changes(elastic("1P2D", kv_tokens=2000), PROMPTS)
  assert first[2] == "P" and first[1] in (1, 2)
  routed = [e for at, e in log if isinstance(e, Route) and at > first[0]]
  assert {e.worker for e in routed} == {0, first[1]}


def test_full_decode_pools_turn_a_prefill_worker():
  (first, *_), log = changes(elastic("3P1D"), ANSWERS)
  assert first[2] == "D" and first[1] in (0, 1, 2)
  sent = [e for at, e in log if isinstance(e, Transfer) and at > first[0]]
  assert {3, first[1]} <= {e.target for e in sent}


@pytest.mark.parametrize("rows", [PROMPTS, ANSWERS])
def test_no_role_is_ever_left_empty(rows):
  def check(event, world):
    assert world.with_role("P") and world.with_role("D")

  eager = RoleChange(queue_tokens=0, window_s=1e-6, pause_s=0)
  found, _ = changes(elastic("2P2D", eager), rows, check)
  assert found
  assert changes(elastic("1P1D", eager), rows)[0] == []


def test_the_largest_pool_of_a_role_stays():
  """Else its requests would have no place to go."""
  pools = (
      Pool(role="P", count=1), Pool(role="D", count=1, kv_tokens=4000),
      Pool(role="D", count=1),
  )
  run = elastic("1P2D", kv_tokens=2000)
  cluster = dataclasses.replace(run.cluster, pools=pools)
  found, _ = changes(dataclasses.replace(run, cluster=cluster), PROMPTS)
  assert {worker for _, worker, _ in found} == {2}


def test_a_worker_changes_empty():
  run = elastic("1P2D", kv_tokens=2000)
  rows = [(0, 30, 60), (1, 30, 60), *((at + 2, *rest) for at, *rest in PROMPTS)]
  ((at_ps, worker, _), *_), log = changes(run, rows)
  decoded = [
      at for at, e in log
      if isinstance(e, Step) and e.worker == worker and e.decode
  ]
  assert decoded and max(decoded) < at_ps


def test_it_takes_a_window_and_a_pause():
  rows = PROMPTS + [(at + 4_000_000, *rest) for at, *rest in ANSWERS]
  rule = RoleChange(queue_tokens=300, window_s=0.05, pause_s=1.5)
  found, log = changes(elastic("2P3D", rule), rows)
  times = [at for at, *_ in found]
  first = next(at for at, e in log if isinstance(e, Arrived))
  assert len(times) >= 2 and times[0] >= first + 50_000 * US
  gaps = [b - a for a, b in zip(times, times[1:], strict=False)]
  assert min(gaps) >= 1.5 * S
  never = RoleChange(queue_tokens=300, window_s=100, pause_s=0)
  assert changes(elastic("2P3D", never), rows)[0] == []


def test_a_light_load_changes_nothing():
  rows = [(i * 100_000, 60, 10) for i in range(30)]
  assert changes(elastic("2P2D"), rows)[0] == []


@pytest.mark.parametrize(
    "other",
    [
        {"queue_tokens": 10**6}, {"window_s": 0.2}, {"pause_s": 3.0},
    ],
)
def test_each_setting_has_an_effect(other):
  rows = PROMPTS + [(at + 1_500_000, *rest) for at, *rest in ANSWERS]
  run = elastic("2P3D")
  turned = elastic("2P3D", dataclasses.replace(QUICK, **other))
  assert changes(run, rows)[0] != changes(turned, rows)[0]
