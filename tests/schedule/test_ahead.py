"""Places reserved before a prompt starts, and pages that move while it is
computed."""

import dataclasses

import pytest

from pdjax import config
from pdjax.config import Pool, TransferPlan
from pdjax.events import (
    Arrived,
    Blocked,
    Preempt,
    Release,
    Reserve,
    Route,
    Step,
    StepEnded,
    Transfer,
    TransferEnded,
)
from pdjax.metrics.requests import request_table
from pdjax.request import Request, State
from pdjax.schedule.checked import IllegalCommand
from pdjax.schedule.setup import policy_of
from pdjax.segments import Segment
from tests.laws.cluster import Load, load_of, run_config, serve_load
from tests.schedule.worlds import arrive, end_step, world_of

P, D = 0, 1


def served(kind, *rows, pages_on=None, **settings):
  run = run_config(kind, **settings)
  if pages_on:
    pools = tuple(
        Pool(role=role, count=1, kv_tokens=pages * 8)
        for role, pages in zip("PD", pages_on, strict=True)
    )
    cluster = dataclasses.replace(run.cluster, pools=pools)
    run = dataclasses.replace(run, cluster=cluster)
  return serve_load(run, load_of(*rows))[0]


def test_each_page_moves_once_and_full_ones_move_early():
  """Chunks of 32, pages of 8 tokens; the last of 100 tokens is half a page."""
  log = served("pages of chunks", (0, 100, 5), kv_tokens=2000)
  assert [t.pages for t in log.of(Transfer)] == [(0, 4), (4, 8), (8, 12),
                                                 (12, 13)]
  ends = [e.at_ps for e in log.of(StepEnded)][:4]
  starts = [at_ps for at_ps, e in log if isinstance(e, Transfer)]
  assert starts == ends


def test_a_page_that_two_chunks_share_waits_for_the_second():
  log = served("pages of chunks", (0, 100, 5), kv_tokens=2000, chunk_size=36)
  assert [t.pages for t in log.of(Transfer)] == [(0, 4), (4, 9), (9, 13)]


def test_only_the_last_piece_is_exposed():
  whole = request_table(served("chunked prefill on P", (0, 400, 5),
                               kv_tokens=2000))
  pieces = request_table(served("pages of chunks", (0, 400, 5),
                                kv_tokens=2000))
  hidden, exposed = (
      table["hidden_transfer_ns"][0] for table in (pieces, whole)
  )
  assert hidden > 0 and exposed == 0
  assert pieces["transfer_ns"][0] < 0.3 * whole["transfer_ns"][0]
  assert (
      pieces.attribution.moved_bytes == whole.attribution.moved_bytes > 0
  )


def reservations(log, worker):
  return {
      e.request: at_ps for at_ps, e in log
      if isinstance(e, Reserve) and e.worker == worker
  }


@pytest.mark.parametrize("kind", ["reserved at prefill start",
                                  "pages of chunks"])
def test_a_place_is_taken_with_the_step_that_starts_a_prompt(kind):
  log = served(kind, (0, 100, 5), (1, 90, 5), (2, 90, 5), kv_tokens=2000)
  on_p, on_d = reservations(log, P), reservations(log, D)
  assert on_p == on_d and len(set(on_d.values())) > 1


def test_a_place_is_taken_on_arrival():
  log = served("reserved on arrival", (0, 100, 5), (1, 90, 5), kv_tokens=2000)
  assert reservations(log, D) == {0: 0, 1: 10**6}
  assert reservations(log, P)[1] > 10**6


def test_without_room_on_d_no_prompt_starts_and_the_wait_is_told():
  """D has 16 pages: the second request fits when the first has ended."""
  log = served("reserved at prefill start", (0, 100, 5), (1, 90, 5),
               (2, 8, 3), pages_on=(64, 16))
  first = [request for s in log.of(Step) for request, _ in s.prefill]
  assert first == [0, 1, 2]  # the third would fit, and does not pass
  assert {b.worker for b in log.of(Blocked)} == {D}
  table = request_table(log)
  assert table["p_place_ns"][1] > 0 and table["p_place_ns"][2] > 0
  assert table["p_memory_ns"].sum() == table["transfer_wait_ns"].sum() == 0


def test_a_request_of_one_token_asks_for_no_place():
  log = served("pages of chunks", (0, 100, 1), kv_tokens=2000)
  assert not reservations(log, D) and not log.of(Transfer)


class Driven:
  """P and D of 20 pages of 4 tokens, chunks of 8; commands are started."""

  def __init__(self, plan, *, pages=20):
    self.world, _ = world_of("PD", pages=pages, chunk_size=8)
    run = run_config("chunked prefill on P", transfer=plan)
    at_once = dataclasses.replace(run.faults, backoff_s=0.0)
    self._policy = policy_of(dataclasses.replace(run, faults=at_once))

  def after(self, event):
    self.world.apply(event)
    decided = self._policy.decide(event, self.world)
    return [self.world.start(command) for command in decided]

  def arrives(self, request, prompt, most=10):
    asked = Request(
        id=request, arrival_ps=request, prompt_tokens=prompt, max_tokens=most
    )
    return self.after(Arrived(max(request, self.world.now_ps), asked))

  def steps(self, step, finished=()):
    at_ps = self.world.now_ps + 10
    return self.after(StepEnded(
        at_ps, step.worker, 0, step.run, 0, 1, (Segment(1, 10),), finished
    ))

  def lands(self, transfer, failure=""):
    return self.after(TransferEnded(
        self.world.now_ps + 5, transfer.transfer, transfer.request, 9, failure
    ))

  @property
  def free_pages(self):
    return [worker.pool.free_pages for worker in self.world.workers]


CHUNKS = TransferPlan(granularity="chunk")


def test_an_answer_may_end_while_pages_of_it_are_in_the_air():
  """P's first token is the last: the pages stay until they have landed."""
  driven = Driven(CHUNKS)
  *_, step = driven.arrives(0, 12)
  moved, step = driven.steps(step)
  assert moved.pages == (0, 2) and step.prefill == ((0, 4),)
  assert not driven.steps(step, finished=((0, 1),))
  progress = driven.world.progress[0]
  assert not progress.ended and driven.free_pages == [17, 16]
  assert not driven.lands(moved)
  assert progress.state is State.FINISHED and not driven.world.unfinished
  assert driven.free_pages == [20, 20]


def test_a_lost_piece_costs_the_place_and_all_is_sent_again():
  driven = Driven(CHUNKS)
  *_, step = driven.arrives(0, 20)
  first, step = driven.steps(step)
  second, step = driven.steps(step)
  assert not driven.lands(first, "dropped")
  assert driven.free_pages == [15, 14]  # the second is still on its way
  assert not driven.lands(second)
  assert driven.free_pages == [15, 20]
  reserved, whole = driven.steps(step)
  assert reserved == Reserve(0, D, 6) and whole.pages == (0, 5)
  (decode,) = driven.lands(whole)
  assert decode.worker == D and driven.free_pages[P] == 20
  assert driven.world.progress[0].failed_transfers == 1


def test_who_has_lost_its_place_takes_those_of_who_has_not_begun():
  """P has room for one prompt, D for both: each would wait for the other."""
  driven = Driven(
      TransferPlan(granularity="chunk", reserve_at="arrival"), pages=12
  )
  driven.world.workers[P].pool.take(6)  # of somebody else
  *_, step = driven.arrives(0, 20, most=2)
  assert driven.arrives(1, 8) == [Route(1, P), Reserve(1, D, 3)]
  first, step = driven.steps(step)
  second, step = driven.steps(step)
  driven.lands(first, "dropped")
  driven.lands(second)
  driven.world.workers[D].pool.take(6)
  released, reserved, whole = driven.steps(step)
  assert released == Release(1, D) and reserved == Reserve(0, D, 6)
  assert whole.pages == (0, 5)


@pytest.mark.parametrize(
    ("pages", "reason"),
    [((0, 3), "the pages to move are"), ((1, 2), "the pages to move are"),
     ((0, 0), "the pages to move are")],
)
def test_only_full_pages_move_and_in_order(pages, reason):
  world, _ = world_of("PD")
  arrive(world, 0, 12)
  world.start(Route(0, P))
  world.start(Reserve(0, D, 4))
  world.start(Reserve(0, P, 3))
  step = world.start(Step(P, ((0, 10),)))
  end_step(world, step.run)
  with pytest.raises(IllegalCommand, match=reason):
    world.start(Transfer(0, P, D, pages))
  assert world.start(Transfer(0, P, D, (0, 2))).transfer == 0
  with pytest.raises(IllegalCommand, match="not idle"):
    world.start(Preempt(0))
  with pytest.raises(IllegalCommand, match="in flight"):
    world.start(Release(0, D))
  with pytest.raises(IllegalCommand, match="no step that begins now"):
    world.start(Transfer(0, P, D, (2, 3), group_layers=4))


def test_a_hand_off_may_be_over_before_its_step_is():
  """Devices may tell of the last layers' arrival before the step's end."""
  driven = Driven(TransferPlan(granularity="layers", layers=4))
  *_, step, moved = driven.arrives(0, 8)
  assert (moved.pages, moved.group_layers) == ((0, 2), 4)
  assert not driven.lands(moved)
  (decode,) = driven.steps(step)
  assert decode.worker == D and driven.free_pages[P] == 20


def test_layers_of_a_chunk_fill_whole_pages_only():
  driven = Driven(TransferPlan(granularity="layers", layers=4))
  driven.world.workers[P].spec = dataclasses.replace(
      driven.world.workers[P].spec, chunk_size=10
  )
  *_, step, moved = driven.arrives(0, 16)
  assert moved.pages == (0, 2)
  driven.lands(moved)
  step, moved = driven.steps(step)
  assert moved.pages == (2, 4) and step.prefill == ((0, 6),)


@pytest.mark.parametrize(("direction", "worker"), [("pull", 2), ("push", 1)])
def test_a_push_waits_for_its_worker_and_a_pull_takes_any(direction, worker):
  """Both D workers are full when the third prompt is done; 2 has room first.

  The first answer is the longest, but worker 1 has fewer tokens outstanding.
  """
  run = run_config(
      "disaggregated", "1P2D", page_tokens=16, reserve_pages=0, max_num_seqs=1,
      router="round_robin", transfer=TransferPlan(direction=direction),
  )
  pools = (Pool(role="P", count=1, max_num_seqs=8), Pool(role="D", count=2))
  run = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, pools=pools)
  )
  load = load_of((0, 40, 60), (1, 40, 5), (2, 40, 4))
  log, _ = serve_load(run, load)
  assert [t.target for t in log.of(Transfer)] == [1, 2, worker]


@pytest.mark.parametrize("granularity", ["request", "chunk"])
@pytest.mark.parametrize(
    "rows, lost, wait_s, settings",
    [
        (  # One displaced from a lost place heads a queue, others hold places.
            [(1860, 41, 17, 7), (1860, 54, 17, 16), (1860, 54, 20, 2),
             (2296, 90, 25, 5)],
            config.Fault(kind="worker_lost", at_s=0.061, worker=2),
            0.01,
            {"split": "2P2D", "kv_tokens": 128, "reserve_pages": 1},
        ),
        (  # One that P had begun with when its place was lost.
            [(14187, 114, 40, 32), (16706, 83, 37, 23), (75491, 141, 19, 1)],
            config.Fault(
                kind="worker_lost", at_s=1 / 3, worker=1, down_s=0.0859
            ),
            1.0,
            {
                "split": "1P1D", "kv_tokens": 208, "reserve_pages": 0,
                "chunk_size": 32,
            },
        ),
    ],
)
def test_who_lost_its_place_is_asked_in_its_turn(
    rows, lost, wait_s, settings, granularity
):
  """Not after those who came later and wait for a place, or P would stop."""
  run = run_config(
      "disaggregated", page_tokens=16, max_num_seqs=5,
      router="join_shortest_queue",
      transfer=TransferPlan(reserve_at="arrival", granularity=granularity),
      **settings,
  )
  run = dataclasses.replace(run, faults=config.Faults(
      events=(lost,), recovery="retry", retries=1, backoff_s=0.005,
      wait_s=wait_s,
  ))
  requests = tuple(
      Request(
          id=i, arrival_ps=at_us * 10**6, prompt_tokens=prompt, max_tokens=most
      )
      for i, (at_us, prompt, most, _) in enumerate(rows)
  )
  load = Load(requests=requests, output_tokens=tuple(row[3] for row in rows))
  _, world = serve_load(run, load)
  assert all(progress.ended for progress in world.progress.values())
