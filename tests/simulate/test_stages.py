"""Pages that leave a step layer by layer: closed forms, by hand."""

import dataclasses

import pytest

from pdjax.config import Link, TransferPlan
from pdjax.events import StepEnded, Transfer, TransferEnded, TransferProgressed
from pdjax.metrics.requests import request_table
from pdjax.schedule.cost import StepShape
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.stages import Leaving, Stages
from tests.laws.cluster import load_of, run_config, serve_load

LAYERS = 32


def served(layers, *rows, link=None, **settings):
  plan = TransferPlan(granularity="layers", layers=layers)
  run = run_config(
      "disaggregated", kv_tokens=4000, transfer=plan, page_tokens=16, **settings
  )
  if link:
    run = dataclasses.replace(
        run, cluster=dataclasses.replace(run.cluster, link=link)
    )
  return serve_load(run, load_of(*rows))[0], cluster_of(run)


def test_groups_by_hand():
  """Layers 0-3, 4-7, 8-9 of 10 in a step of 100, two transfers, copies of 1
  and 2."""
  first, second = Leaving(0, 4, 10), Leaving(1, 4, 10)
  first.gather_ps, second.gather_ps = [1, 1, 1], [2, 2, 2]
  stages = Stages(1000, 100, [first, second])
  times = []
  for _ in range(3):
    times.append((stages.gathered_ps(first), stages.gathered_ps(second)))
    first.gathered += 1
    second.gathered += 1
  assert times == [(1041, 1043), (1084, 1086), (1107, 1109)]
  assert [first.bytes_of(group, 101) for group in range(3)] == [40, 40, 21]


@pytest.mark.parametrize("layers", [8, 4, 1])
def test_one_request_alone_exposes_its_last_group(layers):
  groups = LAYERS // layers
  log, cluster = served(layers, (7, 100, 5))
  cost, link = cluster.costs[0], cluster.links[0]
  size = cost.transfer_bytes(112)  # 7 pages of 16 tokens
  gather_ps = cost.gather_ps(size // groups)
  step = log.of(StepEnded)[0]
  plain_ps = cost.step(StepShape(((100, 0),)))[0].first_ps
  assert step.at_ps - step.started_ps == plain_ps + groups * gather_ps
  (moved,), (ended,) = log.of(Transfer), log.of(TransferEnded)
  assert moved.pages == (0, 7) and ended.moved_bytes == size
  gathered, sent = log.of(TransferProgressed)
  assert gathered.at_ps == step.started_ps + plain_ps // groups + gather_ps
  last_ps = link.transfer_ps(size // groups) - link.latency_ps
  assert sent.at_ps == step.at_ps + last_ps
  assert ended.at_ps == sent.at_ps + cost.scatter_ps(size // groups)


def test_many_prompts_leave_a_step_in_many_groups():
  """No group but the first of each prompt is told of: 1860 in a row."""
  rows = [(0, 1, 2)] * 60
  log, _ = served(1, *rows, link=Link(bandwidth_bytes_per_s=1e15, latency_s=0))
  assert len(log.of(TransferEnded)) == 60


def test_on_a_slow_link_all_but_the_first_layers_compute_is_exposed():
  """The link is never idle: it ends when all bytes have passed it."""
  slow = Link(bandwidth_bytes_per_s=1e9, latency_s=0.0)
  log, cluster = served(8, (0, 100, 5), link=slow)
  (ended,) = log.of(TransferEnded)
  gathered, sent = log.of(TransferProgressed)
  assert sent.at_ps - gathered.at_ps == ended.moved_bytes * 1000


def test_hidden_and_exposed_parts_add_up():
  log, _ = served(8, (0, 300, 5))
  table = request_table(log)
  (gathered, _), (ended,) = (
      log.of(TransferProgressed), log.of(TransferEnded)
  )
  exposed_ns = table["transfer_ns"][0]
  assert exposed_ns == ended.at_ps // 1000 - table["prefill_sampled_ns"][0]
  total_ns = ended.at_ps // 1000 - gathered.at_ps // 1000
  assert table["hidden_transfer_ns"][0] + exposed_ns == total_ns


def test_several_prompts_of_a_step_leave_it_together():
  log, _ = served(8, (0, 60, 5), (0, 70, 4), (0, 90, 1))
  moved = log.of(Transfer)
  assert [t.request for t in moved] == [0, 1]
  assert len(log.of(TransferEnded)) == 2
