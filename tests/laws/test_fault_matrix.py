"""The full product fault x state x recovery on the simulator, and its table."""

import dataclasses
import functools

import pytest

from pdjax.config import TransferPlan
from pdjax.request import State
from pdjax.schedule.loop import serve
from pdjax.schedule.replay import replay
from pdjax.schedule.setup import world_of
from pdjax.simulate.cluster import cluster_of
from tests.laws.cluster import load_of, run_config
from tests.laws.fault_table import table, written
from tests.laws.faultmatrix import (
  CELLS,
  FAULTS,
  LOSSES,
  Cell,
  Pace,
  StrikesWhenSeen,
  words,
)
from tests.laws.test_conservation import check_end, check_pools
from tests.laws.test_faults import check_metrics

PACE = Pace(
    pause_ps=10**9, away_ps=3 * 10**10, wait_s=0.05, backoff_s=0.001
)
LOAD = load_of(*((i * 3000, 80 + i, 30) for i in range(6)))


def run_of(cell: Cell):
  run = run_config(
      "chunked prefill on P", "2P2D", kv_tokens=208 if cell.tight else 2000,
      reserve_pages=0, chunk_size=32,
  )
  strategy = dataclasses.replace(
      run.strategy, transfer=TransferPlan(verify=cell.verify)
  )
  return dataclasses.replace(run, strategy=strategy)


def served(cell: Cell):
  """Runs a cell; every law holds, whatever it comes to."""
  run = run_of(cell)
  cluster = cluster_of(run)
  plan = StrikesWhenSeen(cell, PACE)
  backend = cluster.backend(LOAD.clients(), LOAD.output_tokens, plan)
  world = world_of(run, cluster.pool_pages, cluster.staging_pages)
  log = serve(cell.policy(PACE), backend, world, check_pools)
  check_end(world, LOAD)
  fresh = world_of(run, cluster.pool_pages, cluster.staging_pages)
  result = replay(log, cell.policy(PACE), fresh)
  assert result.identical == result.commands, result.difference
  check_metrics(log, run)
  return plan, log, world


@functools.cache
def outcome_of(cell: Cell) -> str:
  """In words; who was not struck is not hit either, or by the same loss."""
  plan, log, world = served(cell)
  others = {p.state for p in world.progress.values() if p.id != plan.victim}
  allowed = {State.FINISHED}
  if cell.fault in LOSSES and (cell.rule == "fail" or "every" in cell.fault):
    allowed.add(State.FAILED)
  assert others <= allowed, (cell, others)
  return words(plan, log, world)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_state_and_rule(fault):
  for cell in CELLS:
    if cell.fault == fault:
      assert outcome_of(cell), cell


def test_the_document_has_the_table():
  """Else: python -m tests.laws.fault_table"""
  assert written() == table({cell: outcome_of(cell) for cell in CELLS})
