"""The staging budget: never passed, never a dead end, oldest hand-off first."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import events as ev
from pdjax.config import ConfigError, TransferPlan
from pdjax.metrics.requests import request_table
from pdjax.simulate.cluster import cluster_of
from tests.laws.cluster import (
    COLOCATED,
    KINDS,
    TOKEN_BYTES,
    beset,
    configs,
    faults,
    load_of,
    loads,
    run_config,
    serve_load,
)
from tests.laws.test_conservation import check_end

PAGE_BYTES = 8 * TOKEN_BYTES
INT8_PAGE_BYTES = PAGE_BYTES // 2 + 8 * 2 * 32 * 32 * 4
"""With a scale for each key and value of a head."""


def budgeted(run, pages, **plan):
  """A run with room for so many pages on their way from each worker."""
  before = run.strategy.transfer or TransferPlan()
  plan = dataclasses.replace(before, **plan)
  page_bytes = INT8_PAGE_BYTES if plan.payload == "int8" else PAGE_BYTES
  plan = dataclasses.replace(plan, staging_bytes=pages * page_bytes)
  return dataclasses.replace(
      run, strategy=dataclasses.replace(run.strategy, transfer=plan)
  )


def within(budget_pages):
  """A watch: pages on their way from each worker, counted anew."""
  def check(event, world):
    pages = dict.fromkeys(range(len(world.workers)), 0)
    for transfer in world.transfers.values():
      first, end = transfer.pages
      pages[transfer.source] += end - first
    assert pages == {w.id: w.staged_pages for w in world.workers}
    assert max(pages.values()) <= budget_pages

  return check


@settings(max_examples=80, deadline=None)
@given(
    configs().filter(lambda run: "P" in run.cluster.split),
    loads(max_size=12), faults(), st.sampled_from([1, 2, 5, 20]),
    st.sampled_from(["as_is", "int8"]),
)
def test_no_source_ever_has_more_on_its_way(run, load, hits, pages, payload):
  cluster = dataclasses.replace(run.cluster, page_tokens=8)
  run = dataclasses.replace(run, cluster=cluster)
  run = beset(budgeted(run, pages, payload=payload), hits)
  log, world = serve_load(run, load, watch=within(pages))
  check_end(world, load)
  assert not any(worker.staged_pages for worker in world.workers)
  budget_bytes = run.strategy.transfer.staging_bytes
  assert request_table(log).attribution.staging_peak_bytes <= budget_bytes


BURST = load_of(*((100 * i, 60 + 10 * i, 12) for i in range(8)))


@pytest.mark.parametrize("kind", [k for k in KINDS if k not in COLOCATED])
def test_a_budget_binds_and_costs_no_request(kind):
  """Law 9: the log is another one, and less is on its way at a time."""
  run = run_config(kind, "1P2D", kv_tokens=2000)
  free, _ = serve_load(run, BURST)
  log, world = serve_load(budgeted(run, 2), BURST, watch=within(2))
  check_end(world, BURST)
  peaks = [
      request_table(each).attribution.staging_peak_bytes
      for each in (free, log)
  ]
  assert peaks[0] > peaks[1] == 2 * PAGE_BYTES
  # A page of a prompt moves once; fewer at a time.
  assert sum(e - f for f, e in pages_moved(log)) == sum(
      e - f for f, e in pages_moved(free)
  )
  assert max(e - f for f, e in pages_moved(log)) == 2


def pages_moved(log):
  return [transfer.pages for transfer in log.of(ev.Transfer)]


def test_a_whole_hand_off_moves_in_pieces_one_after_the_other():
  """100 tokens are 13 pages; each piece begins when the last has landed."""
  run = budgeted(run_config("disaggregated", kv_tokens=2000), 4)
  log, _ = serve_load(run, load_of((0, 100, 5)))
  assert pages_moved(log) == [(0, 4), (4, 8), (8, 12), (12, 13)]
  begun = [at_ps for at_ps, e in log if isinstance(e, ev.Transfer)]
  over = [e.at_ps for e in log.of(ev.TransferEnded)]
  assert begun[1:] == over[:-1]


def test_the_oldest_hand_off_has_all_the_room_first():
  """Both prompts are of one step; only the end of the first leaves room."""
  run = budgeted(run_config("disaggregated", kv_tokens=2000), 4)
  log, _ = serve_load(run, load_of((0, 72, 5), (0, 72, 5)))
  moved = [(t.request, t.pages) for t in log.of(ev.Transfer)]
  assert moved == [
      (0, (0, 4)), (0, (4, 8)), (0, (8, 9)), (1, (0, 3)), (1, (3, 4)),
      (1, (4, 7)), (1, (7, 8)), (1, (8, 9)),
  ]


def test_layers_leave_their_step_only_if_all_its_pages_fit():
  run = run_config("layer by layer", kv_tokens=2000)
  load = load_of((0, 100, 5))
  fits, _ = serve_load(budgeted(run, 13), load)
  assert [t.group_layers for t in fits.of(ev.Transfer)] == [8]
  log, _ = serve_load(budgeted(run, 12), load)
  assert [t.group_layers for t in log.of(ev.Transfer)] == [0, 0]
  assert pages_moved(log) == [(0, 12), (12, 13)]
  (ended,) = [e for e in log.of(ev.StepEnded) if e.worker == 0]
  assert min(t for t, e in log if isinstance(e, ev.Transfer)) == ended.at_ps


def test_back_pressure_reaches_the_pages_of_the_prefill_worker():
  """P has 26 pages, a prompt 13: the third waits until one has left."""
  run = run_config("disaggregated", kv_tokens=208)
  load = load_of(*((0, 100, 2) for _ in range(4)))
  waited = []
  for pages in (13, 1):
    table = request_table(serve_load(budgeted(run, pages), load)[0])
    waited.append(int(table["p_memory_ns"].sum()))
  assert waited[1] > waited[0]


@pytest.mark.parametrize(
    ("payload", "page_bytes"),
    [("as_is", PAGE_BYTES), ("int8", INT8_PAGE_BYTES)],
)
def test_a_budget_below_a_page_is_refused(payload, page_bytes):
  run = run_config("disaggregated")
  least = budgeted(run, 1, payload=payload)
  assert list(cluster_of(least).staging_pages) == [1, 1]
  plan = TransferPlan(payload=payload, staging_bytes=page_bytes - 1)
  strategy = dataclasses.replace(run.strategy, transfer=plan)
  with pytest.raises(ConfigError) as error:
    cluster_of(dataclasses.replace(run, strategy=strategy))
  assert error.value.errors == [
      f"strategy.transfer.staging_bytes: {page_bytes - 1} is less than one page"
      " of 8 tokens (cluster.page_tokens) on its way from a worker of role P,"
      f" {page_bytes} bytes"
  ]
