"""The trace is one that Perfetto takes: no overlaps, arrows that bind."""

import dataclasses
import gzip
import json

import numpy as np
import pytest

from pdjax import config
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.timeline import perfetto
from pdjax.timeline.activity import Activity, Moved, activity_of
from pdjax.timeline.gauges import gauges_of
from pdjax.tracks import worker_names
from pdjax.workload.build import build

SPLIT = config.Run(
    cluster=config.Cluster(chip="h100-sxm", split="1P2D"),
    strategy=config.Strategy(kind="disaggregated"),
    workload=config.Workload(num_requests=60, rate=60.0),
)


def activity_and_gauges(config):
  """Of a simulated run, and its pools' pages."""
  from pdjax import reads

  run = reads.resolved(config)
  workload, cluster = build(run.workload), cluster_of(run)
  world = world_of(run, cluster.pool_pages)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  log = serve(policy_of(run), backend, world)
  gauges = gauges_of(log, policy_of(run), world_of(run, cluster.pool_pages))
  return activity_of(log, worker_names(run)), gauges, cluster.pool_pages


@pytest.fixture(scope="module")
def served():
  """(activity, gauges) of a split run that hands off much at once."""
  return activity_and_gauges(SPLIT)


def events(served, phase):
  return [
      e for e in perfetto.trace_events(*served[:2]) if e["ph"] == phase
  ]


def assert_nested(slices):
  """On one lane slices follow each other or lie within each other."""
  open_until: list[float] = []
  for begin, end in sorted((b, -e) for b, e in slices):
    end = -end
    while open_until and open_until[-1] <= begin:
      open_until.pop()
    assert not open_until or end <= open_until[-1], (begin, end, open_until)
    open_until.append(end)


def lanes(slices):
  found = {}
  for e in slices:
    ends = (round(e["ts"] * 1e3), round((e["ts"] + e["dur"]) * 1e3))
    found.setdefault((e["pid"], e["tid"]), []).append(ends)
  return found


def test_no_slices_overlap_on_a_lane(served):
  found = lanes(events(served, "X"))
  assert len(found) > 3
  for slices in found.values():
    assert_nested(slices)
  with pytest.raises(AssertionError):
    assert_nested([(0, 10), (5, 15)])


def test_lost_workers_are_slices_beside_the_steps():
  hits = config.Faults(
      drop_share=0.2, worker_up_s=0.3, worker_down_s=0.05, seed=1,
      recovery="recompute",
  )
  broken = activity_and_gauges(dataclasses.replace(SPLIT, faults=hits))
  slices = events(broken, "X")
  lost = [e for e in slices if e["name"] == "lost"]
  assert lost and len(lost) == len(broken[0].absences)
  assert any(e["args"].get("failure") for e in slices)
  for each in lanes(slices).values():
    assert_nested(each)


def test_every_hand_off_is_an_arrow_that_binds_to_its_slices(served):
  activity = served[0]
  slices = lanes(events(served, "X"))
  arrows = {}
  for phase in "stf":
    for e in events(served, phase):
      arrows.setdefault(e["id"], []).append(e)
      at = round(e["ts"] * 1e3)
      own = slices[e["pid"], e["tid"]]
      assert any(begin <= at <= end for begin, end in own), e
  assert len(arrows) == len(activity.handoffs) == 60
  for steps in arrows.values():
    assert [e["ph"] for e in steps] == ["s", "t", "f"]
    assert len({e["pid"] for e in steps}) == 3
    assert steps[0]["ts"] <= steps[1]["ts"] <= steps[2]["ts"]


def test_counters_grow_in_time_and_end_as_they_began(served):
  found = {}
  for e in events(served, "C"):
    found.setdefault((e["pid"], e["name"]), []).append(e)
  names = {name for _, name in found}
  assert names == {"queue", "batch", "free pages", "link bytes/s"}
  for (pid, name), series in found.items():
    times = [e["ts"] for e in series]
    assert times == sorted(set(times)) and times[0] >= 0
    last = series[-1]["args"]["value"]
    assert last == (served[2][pid - 1] if name == "free pages" else 0)


def test_prompts_that_wait_for_a_place_elsewhere_are_counted():
  from pdjax import reads

  tight = dataclasses.replace(SPLIT, strategy=dataclasses.replace(
      SPLIT.strategy, max_num_seqs=2
  ))
  run = reads.resolved(tight)
  workload, cluster = build(run.workload), cluster_of(run)
  world = world_of(run, cluster.pool_pages)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  log = serve(policy_of(run), backend, world)
  gauges = gauges_of(log, policy_of(run), world_of(run, cluster.pool_pages))
  assert gauges.handoffs[:, 0].max() == 2  # as many as P may hold
  assert gauges.handoffs.min() == 0 and not gauges.handoffs[-1].any()
  assert not gauges.handoffs[:, 1:].any()


def test_a_process_for_each_worker_and_link(served):
  named = {
      e["pid"]: e["args"]["name"]
      for e in events(served, "M") if e["name"] == "process_name"
  }
  assert list(named.values()) == [
      "worker P0", "worker D1", "worker D2", "link P0 → D1", "link P0 → D2",
  ]
  assert {e["pid"] for e in perfetto.trace_events(*served[:2])} == set(named)


def test_transfers_at_one_time_have_lanes_of_their_own():
  def moved(begin_ns, end_ns):
    return Moved(0, 0, 0, 1, begin_ns, None, None, end_ns, 8, "")

  moves = [moved(0, 10), moved(5, 15), moved(10, 20), moved(12, 13)]
  assert perfetto.lanes_of(moves) == [0, 1, 0, 2]


def test_transfers_that_share_a_link_never_add_up_beyond_what_moved():
  def moved(begin_ns, end_ns, size, target=1):
    return Moved(0, 0, 0, target, begin_ns, None, None, end_ns, size, "")

  moves = (
      moved(0, 10, 40), moved(5, 15, 60), moved(15, 20, 50),
      moved(30, 40, 10), moved(2, 12, 90, target=2),
  )
  activity = Activity(("P0", "D1", "D2"), (), moves, (), 50)
  times, rate = perfetto.link_rate(activity, [(0, 1)])
  assert times.tolist() == [0, 15, 20, 30, 40]
  assert (rate / 1e9).tolist() == [100 / 15, 10, 0, 1, 0]
  times, rate = perfetto.link_rate(activity, activity.links)
  assert (rate / 1e9).tolist() == [190 / 15, 10, 0, 1, 0]


def test_no_link_is_faster_than_it_is_and_no_byte_is_lost(served):
  activity = served[0]
  for links in ([activity.links[0]], activity.links):
    times_ns, rate = perfetto.link_rate(activity, links)
    moved = sum(
        m.moved_bytes for m in activity.moved if (m.source, m.target) in links
    )
    assert sum(rate[:-1] * np.diff(times_ns)) / 1e9 == pytest.approx(moved)
    assert rate.max() < 450e9 * 1.001


def test_the_same_run_gives_the_same_bytes(served, tmp_path):
  for name in "ab":
    perfetto.write(tmp_path / name, *served[:2])
  assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
  told = json.loads(gzip.decompress((tmp_path / "a").read_bytes()))
  assert told["traceEvents"]


def test_steps_and_stages_are_those_of_the_log(served):
  activity = served[0]
  tokens = sum(ran.prefill_tokens for ran in activity.ran)
  assert tokens == sum(
      request.prompt_tokens
      for request in build(SPLIT.workload).requests
  )
  for move in activity.moved:
    stages = (move.begin_ns, move.gathered_ns, move.sent_ns, move.end_ns)
    assert list(stages) == sorted(stages)
