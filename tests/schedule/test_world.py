"""The world: what commands and events do, and what it refuses."""

import numpy as np
import pytest

from pdjax.events import (
  Abort,
  Blocked,
  Displaced,
  Interrupt,
  Preempt,
  Reject,
  Release,
  Reserve,
  Route,
  Settled,
  Step,
  Transfer,
  TransferEnded,
  Unblocked,
  Wake,
  WorkerBack,
  WorkerLost,
)
from pdjax.request import State
from pdjax.schedule.world import IllegalCommand
from tests.schedule.worlds import arrive, end_step, world_of


def decoding(world, request=0, prompt=8, most=10, worker=0):
  """A request that has its first token, on one worker."""
  progress = arrive(world, request, prompt, most)
  world.start(Route(request, worker))
  pages = world.workers[worker].need_pages(progress)
  world.start(Reserve(request, worker, pages))
  step = world.start(Step(worker, prefill=((request, prompt),)))
  end_step(world, step.run, worker=worker)
  return progress


def test_life_of_a_colocated_request():
  world, _ = world_of()
  progress = decoding(world)
  assert progress.state is State.DECODE
  assert (progress.computed_tokens, progress.generated_tokens) == (8, 1)
  run = world.start(Step(0, decode=(0,), repeats=100))
  assert run.repeats == 9  # the declared end
  end_step(world, run.run, steps=9, finished=((0, 9),))
  assert progress.state is State.FINISHED and progress.generated_tokens == 10
  assert world.workers[0].pool.free_pages == 20 and world.unfinished == 0


def test_a_run_takes_its_pages_and_gives_back_what_it_did_not_reach():
  world, _ = world_of()
  progress = decoding(world)  # 8 tokens and room for a first decode: 3 pages
  run = world.start(Step(0, decode=(0,), repeats=100))
  assert len(progress.pages[0]) == 5  # 8 + 9 tokens
  end_step(world, run.run, steps=2)
  assert len(progress.pages[0]) == 3 and world.workers[0].pool.free_pages == 17


def test_repeats_are_what_free_pages_cover():
  world, _ = world_of(pages=4)
  decoding(world, most=100)  # 3 pages; one is left: 16 tokens in all
  assert world.start(Step(0, decode=(0,), repeats=100)).repeats == 8


def test_a_reservation_takes_back_pages_no_step_past_recall_needs():
  world, log = world_of(pages=6, settled=2)
  progress = decoding(world, most=13)
  run = world.start(Step(0, decode=(0,), repeats=100))
  assert run.repeats == 12 and world.workers[0].pool.free_pages == 1
  other = arrive(world, 1, prompt=4, at_ps=100)
  world.start(Route(1, 0))
  assert world.has_free(world.workers[0], 3)
  assert not world.has_free(world.workers[0], 4)
  world.start(Reserve(1, 0, 2))
  assert log.of(Settled) == [Settled(0, 0, run.run, 2)]
  # One page less: 16 tokens.
  assert list(world.admission.let_go()) == [(0, 0, 8)]
  assert len(progress.pages[0]) == 4 and len(other.pages[0]) == 2


def test_an_interrupt_ends_a_run_where_it_can_no_longer_be_recalled():
  world, log = world_of(settled=3)
  decoding(world)
  run = world.start(Step(0, decode=(0,), repeats=100))
  world.start(Interrupt(0))
  assert log.of(Settled) == [Settled(0, 0, run.run, 3)]
  assert list(world.admission.let_go()) == [(0, 0, 3)]
  assert list(world.admission.let_go()) == []


def test_hand_off_moves_the_request_and_frees_the_source():
  world, _ = world_of("PD")
  progress = decoding(world)
  assert progress.state is State.HANDOFF and list(world.handoffs) == [0]
  world.start(Reserve(0, 1, 3))
  started = world.start(Transfer(0, 0, 1, (0, 2)))
  assert progress.state is State.TRANSFER and progress.pages.keys() == {0, 1}
  world.apply(TransferEnded(50, started.transfer, 0, 1000))
  assert progress.state is State.DECODE and progress.worker == 1
  assert progress.pages.keys() == {1}
  assert world.workers[0].pool.free_pages == 20
  assert world.workers[0].outstanding_tokens == 0


def test_a_failed_hand_off_keeps_the_source_and_can_be_tried_again():
  world, _ = world_of("PD")
  progress = decoding(world)
  world.start(Reserve(0, 1, 3))
  started = world.start(Transfer(0, 0, 1, (0, 2)))
  world.apply(TransferEnded(50, started.transfer, 0, 0, "dropped"))
  assert progress.state is State.HANDOFF and progress.pages.keys() == {0}
  world.start(Reserve(0, 1, 3))
  assert world.start(Transfer(0, 0, 1, (0, 2))).transfer == 1


def test_a_request_of_one_token_ends_on_its_prefill_worker():
  world, _ = world_of("PD")
  progress = arrive(world, 0, prompt=8, most=1)
  world.start(Route(0, 0))
  world.start(Reserve(0, 0, 2))
  step = world.start(Step(0, prefill=((0, 8),)))
  end_step(world, step.run, finished=((0, 1),))
  assert progress.state is State.FINISHED and not world.handoffs
  assert world.workers[0].pool.free_pages == 20


def test_preemption_recomputes_prompt_and_answer():
  world, _ = world_of()
  progress = decoding(world)
  run = world.start(Step(0, decode=(0,), repeats=2))
  end_step(world, run.run, steps=2)
  world.start(Preempt(0))
  assert progress.state is State.WAITING and not progress.pages
  assert progress.target_tokens == 11  # 8 and the 3 made
  assert (progress.preemptions, progress.recomputed_tokens) == (1, 10)
  world.start(Reserve(0, 0, 3))
  step = world.start(Step(0, prefill=((0, 11),)))
  end_step(world, step.run)
  assert progress.generated_tokens == 4 and progress.computed_tokens == 11


def test_preempted_requests_keep_their_place_in_the_queue():
  world, _ = world_of()
  decoding(world, 0)
  for request in (1, 2):
    arrive(world, request, 4, at_ps=world.now_ps + 1)
    world.start(Route(request, 0))
  world.start(Preempt(0))
  assert [p.id for p in world.workers[0].waiting] == [0, 1, 2]


def test_abort_waits_for_the_step_and_for_the_transfer():
  world, _ = world_of("PD")
  progress = arrive(world, 0, prompt=8)
  world.start(Route(0, 0))
  world.start(Reserve(0, 0, 2))
  step = world.start(Step(0, prefill=((0, 8),)))
  world.start(Abort(0, "cancelled"))
  assert progress.state is State.PREFILL and progress.pages
  end_step(world, step.run)
  assert progress.state is State.ABORTED and not progress.pages

  other = decoding(world, 1)
  world.start(Reserve(1, 1, 3))
  transfer = world.start(Transfer(1, 0, 1, (0, 2)))
  world.start(Abort(1, "cancelled"))
  assert other.state is State.TRANSFER
  world.apply(TransferEnded(world.now_ps, transfer.transfer, 1, 9))
  assert other.state is State.ABORTED and not other.pages
  assert all(w.pool.free_pages == 20 for w in world.workers)


def test_blocked_is_noted_once_and_unblocked_when_it_goes_on():
  world, log = world_of(pages=4)
  decoding(world)
  late = arrive(world, 1, 8, at_ps=50)
  world.start(Route(1, 0))
  for _ in range(3):
    assert not world.admits(world.workers[0], late)
  assert log.of(Blocked) == [Blocked(1, 0, "pages")]
  world.start(Abort(0, "x"))
  world.start(Reserve(1, 0, 3))
  assert log.of(Unblocked) == [Unblocked(1)]


def test_admission_keeps_a_reserve_but_not_for_the_only_request():
  world, _ = world_of(pages=3, reserve_pages=5)
  first = arrive(world, 0, 8)
  world.start(Route(0, 0))
  assert world.admits(world.workers[0], first)  # 3 pages of 3, alone
  world, _ = world_of(pages=8, reserve_pages=2)
  decoding(world)  # 3 pages; 5 free
  second = arrive(world, 1, 3, at_ps=20)
  world.start(Route(1, 0))  # needs 1 + 2 x (1 + 1) = 5
  assert world.admits(world.workers[0], second)
  third = arrive(world, 2, 4, at_ps=30)  # needs 2 + 4
  assert not world.admits(world.workers[0], third)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (Route(0, 0), "already routed"),
        (Route(7, 0), "no such request"),
        (Reserve(0, 0, 1), "already holds"),
        (Reserve(1, 0, 99), "too few"),
        (Reserve(1, 0, 0), "no pages"),
        (Step(0), "empty"),
        (Step(0, decode=(0, 0)), "twice"),
        (Step(0, decode=(1,)), "not ready"),
        (Step(0, prefill=((0, 4),)), "not ready"),
        (Step(0, decode=(0,), repeats=0), "no step"),
        (Interrupt(0), "nothing runs"),
        (Transfer(0, 0, 1, (0, 2)), "hand-off"),
        (Preempt(1), "not idle"),
        (Release(0, 0), "no reservation"),
        (Reject(0, "x"), "already routed"),
        (Wake(0), "not in the future"),
        (Wake(2**63), "later than the 106 days of a log"),
    ],
)
def test_what_is_not_allowed_is_refused_and_changes_nothing(command, reason):
  world, _ = world_of("CC")
  decoding(world)
  arrive(world, 1, 8)
  before = repr([(w.pool.free_pages, w.num_seqs) for w in world.workers])
  with pytest.raises(IllegalCommand, match=reason):
    world.start(command)
  assert before == repr(
      [(w.pool.free_pages, w.num_seqs) for w in world.workers]
  )


def test_a_busy_lane_and_too_long_chunks_are_refused():
  world, _ = world_of()
  decoding(world, 0)
  progress = arrive(world, 1, 8, at_ps=20)
  world.start(Route(1, 0))
  world.start(Reserve(1, 0, 3))
  with pytest.raises(IllegalCommand, match="not so many"):
    world.start(Step(0, prefill=((1, 9),)))
  world.start(Step(0, prefill=((1, 5),), decode=(0,)))
  assert progress.step is not None
  with pytest.raises(IllegalCommand, match="lane is busy"):
    world.start(Step(0, decode=(0,)))


def test_events_that_do_not_fit_are_refused():
  world, _ = world_of()
  decoding(world)
  with pytest.raises(ValueError, match="does not end the run"):
    end_step(world, 99)
  with pytest.raises(ValueError, match="was not lost"):
    world.apply(WorkerBack(world.now_ps, 0))
  with pytest.raises(ValueError, match="no such worker"):
    world.apply(WorkerLost(world.now_ps, 1))
  world.apply(WorkerLost(world.now_ps, 0))
  with pytest.raises(ValueError, match="lost already"):
    world.apply(WorkerLost(world.now_ps, 0))


def test_a_lost_worker_takes_its_pages_and_is_of_no_use():
  world, log = world_of()
  progress = decoding(world)
  waits = arrive(world, 1, 8)
  world.start(Route(1, 0))
  run = world.start(Step(0, decode=(0,), repeats=5))
  world.apply(WorkerLost(world.now_ps, 0))
  worker = world.workers[0]
  assert worker.runs == [None] and not worker.waiting
  assert worker.pool.free_pages == 20 and worker.outstanding_tokens == 0
  assert list(world.unrouted) == [1, 0]
  for one in (progress, waits):
    assert one.state is State.ARRIVED and one.worker is None and not one.pages
  assert (progress.losses, waits.losses) == (1, 0)
  assert progress.target_tokens == 9 and progress.recomputed_tokens == 8
  assert log.of(Displaced) == [Displaced(0, 0)]
  with pytest.raises(ValueError, match="does not end the run"):
    end_step(world, run.run)
  for command in (Route(0, 0), Reserve(0, 0, 3), Step(0, decode=(0,))):
    with pytest.raises(IllegalCommand, match="worker 0 is lost"):
      world.start(command)
  world.apply(WorkerBack(world.now_ps, 0))
  world.start(Route(0, 0))
  world.start(Reserve(0, 0, 3))
  world.start(Step(0, prefill=((0, 9),)))


def test_a_prefill_beyond_its_pages_is_refused():
  world, _ = world_of()
  arrive(world, 0, 9)  # three pages of 4 tokens
  world.start(Route(0, 0))
  world.start(Reserve(0, 0, 2))
  with pytest.raises(IllegalCommand, match="too few pages"):
    world.start(Step(0, prefill=((0, 9),)))
  world.start(Step(0, prefill=((0, 8),)))


def test_a_step_is_recorded_in_plain_integers_and_tuples():
  world, _ = world_of()
  arrive(world, 0, 9)
  world.start(Route(0, 0))
  world.start(Reserve(0, 0, 3))
  started = world.start(Step(0, prefill=[[np.int64(0), np.int64(9)]]))
  assert started.prefill == ((0, 9),) and started.decode == ()
  assert {type(n) for pair in started.prefill for n in pair} == {int}
