"""The virtual clock: closed forms, runs against single steps, determinism."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import config
from pdjax.events import (
  Arrived,
  Interrupt,
  Preempt,
  Reserve,
  Route,
  Step,
  StepEnded,
  Transfer,
  TransferEnded,
  TransferProgressed,
  Wake,
  Woke,
)
from pdjax.schedule.cost import StepShape
from pdjax.schedule.loop import serve
from pdjax.schedule.worker import WorkerSpec
from pdjax.schedule.world import World
from pdjax.segments import Segment
from pdjax.simulate.backend import SimulatedBackend
from pdjax.simulate.links import Link
from pdjax.workload.clients import Open
from tests.simulate.serving import (
  OneByOne,
  make_run,
  request,
  simulate,
  token_times,
)

PAGE = 16


def decode_ps(cost, attended_tokens):
  shape = StepShape(decode_seqs=1, decode_context_tokens=attended_tokens)
  return cost.step(shape)[0].first_ps


def test_one_colocated_request_is_the_closed_form():
  log, cluster, _ = simulate(make_run(), [request(0, 100, 5)])
  cost = cluster.costs[0]
  expected = [cost.step(StepShape(((100, 0),)))[0].first_ps]
  for attended_tokens in range(101, 105):
    expected.append(expected[-1] + decode_ps(cost, attended_tokens))
  assert token_times(log) == {0: expected}


def test_one_chunked_request_is_the_closed_form():
  run = make_run("chunked", strategy={"chunk_size": 64})
  log, cluster, _ = simulate(run, [request(0, 100, 2)])
  cost = cluster.costs[0]
  chunks = [StepShape(((64, 0),)), StepShape(((36, 64),))]
  first, second = (cost.step(shape)[0].first_ps for shape in chunks)
  third = decode_ps(cost, 101)
  assert token_times(log)[0] == [
      first, first + second, first + second + third
  ]


def test_one_disaggregated_request_is_the_closed_form():
  run = make_run("disaggregated", "1P1D")
  log, cluster, _ = simulate(run, [request(0, 100, 3)])
  cost, link = cluster.costs[0], cluster.links[0]
  size_bytes = cost.transfer_bytes(7 * PAGE)  # whole pages travel
  prefilled = cost.step(StepShape(((100, 0),)))[0].first_ps
  gathered = prefilled + cost.gather_ps(size_bytes)
  sent = gathered + link.transfer_ps(size_bytes)
  landed = sent + cost.scatter_ps(size_bytes)
  stages = [event.at_ps for event in log.of(TransferProgressed)]
  assert stages == [gathered, sent]
  (ended,) = log.of(TransferEnded)
  assert (ended.at_ps, ended.moved_bytes) == (landed, size_bytes)
  second = landed + decode_ps(cost, 101)
  assert token_times(log)[0] == [
      prefilled, second, second + decode_ps(cost, 102)
  ]


def test_pages_as_int8_weigh_less_and_are_copied_less():
  """A token of llama-3-8b: 32 layers, 2 x 8 heads, 128 bytes and a scale."""
  run = make_run("disaggregated", "1P1D")
  plan = config.TransferPlan(payload="int8")
  run = dataclasses.replace(
      run, strategy=dataclasses.replace(run.strategy, transfer=plan)
  )
  log, cluster, _ = simulate(run, [request(0, 100, 3)])
  cost, link = cluster.costs[0], cluster.links[0]
  tokens = 7 * PAGE
  whole_bytes = cost.transfer_bytes(tokens)
  size_bytes = tokens * 32 * 2 * 8 * (128 + 4)
  (ended,) = log.of(TransferEnded)
  assert ended.moved_bytes == size_bytes < 0.52 * whole_bytes
  copied_bytes = (size_bytes + whole_bytes) // 2
  (started,) = [at_ps for at_ps, e in log if isinstance(e, Transfer)]
  assert ended.at_ps - started == (
      cost.gather_ps(copied_bytes) + link.transfer_ps(size_bytes)
      + cost.scatter_ps(copied_bytes)
  )


def test_a_true_end_before_the_declared_one_ends_the_run():
  log, _, world = simulate(make_run(), [request(0, 10, 100)], [4])
  ends = log.of(StepEnded)
  assert [(e.steps, e.finished) for e in ends] == [(1, ()), (3, ((0, 3),))]
  assert world.progress[0].generated_tokens == 4


def test_an_answer_of_one_token_ends_with_its_prefill():
  run = make_run("disaggregated", "1P1D")
  log, _, _ = simulate(run, [request(0, 10, 8)], [1])
  assert [event.finished for event in log.of(StepEnded)] == [((0, 1),)]
  assert not log.of(Transfer)


def test_an_arrival_ends_a_run_at_the_step_in_flight():
  def served(ahead):
    run = make_run(engine=config.Engine(dispatch_ahead=ahead))
    cost = simulate(run, [request(0, 100, 2)])[1].costs[0]
    prefilled = cost.step(StepShape(((100, 0),)))[0].first_ps
    arrival_ps = prefilled + decode_ps(cost, 101) + 1
    requests = [request(0, 100, 50), request(1, 100, 50, arrival_ps)]
    log = simulate(run, requests)[0]
    assert len(log.of(Interrupt)) == 1
    return log.of(StepEnded)[1].steps

  assert served(ahead=0) == 2
  assert served(ahead=1) == 3


def test_copies_delay_the_next_step_and_end_no_run():
  """A long decode on D while the pages of a second request land there."""
  run = make_run("disaggregated", "1P1D")
  alone = token_times(simulate(run, [request(0, 100, 60)])[0])[0]
  requests = [request(0, 100, 60), request(1, 100, 1, alone[5])]
  log, cluster, _ = simulate(run, requests)
  # A one-token answer never moves: the run is not disturbed at all.
  assert token_times(log)[0] == alone
  requests[1] = request(1, 100, 2, alone[5])
  log, cluster, _ = simulate(run, requests)
  shared = token_times(log)[0]
  size_bytes = cluster.costs[1].transfer_bytes(7 * PAGE)
  copy_ps = cluster.costs[1].scatter_ps(size_bytes)
  (sent,) = [
      event.at_ps for event in log.of(TransferProgressed)
      if event.request == 1 and event.stage == "sent"
  ]
  in_flight = next(n for n, at_ps in enumerate(alone) if at_ps > sent)
  assert shared[: in_flight + 1] == alone[: in_flight + 1]
  assert shared[in_flight + 1] == alone[in_flight + 1] + copy_ps
  ended = [e for e in log.of(TransferEnded) if e.request == 1]
  assert ended[0].at_ps == alone[in_flight] + copy_ps


def test_a_gather_delays_the_next_prefill():
  run = make_run("disaggregated", "1P1D", strategy={
      "max_num_batched_tokens": 100
  })
  requests = [request(0, 100, 2), request(1, 100, 2)]
  log, cluster, _ = simulate(run, requests)
  cost = cluster.costs[0]
  prefill_ps = cost.step(StepShape(((100, 0),)))[0].first_ps
  first, second = (e for e in log.of(StepEnded) if e.worker == 0)
  (gathered,) = [
      event.at_ps for event in log.of(TransferProgressed)
      if event.request == 0 and event.stage == "gathered"
  ]
  copy_ps = cost.gather_ps(cost.transfer_bytes(7 * PAGE))
  step, transfer = log.of(Step)[1], log.of(Transfer)[0]
  assert (step.worker, transfer.source) == (0, 0)
  # The copy comes first, and the second prefill follows it.
  assert gathered == first.at_ps + copy_ps
  assert second.at_ps == gathered + prefill_ps


def test_transfers_contend_for_the_link():
  def landed(count):
    run = make_run("disaggregated", "1P1D", cluster={
        "link": config.Link(bandwidth_bytes_per_s=1e9)
    })
    log = simulate(run, [request(n, 160, 2) for n in range(count)])[0]
    sent = [e.at_ps for e in log.of(TransferProgressed) if e.stage == "sent"]
    gathered = [
        e.at_ps for e in log.of(TransferProgressed) if e.stage == "gathered"
    ]
    return max(sent) - min(gathered)

  assert landed(4) > 3.5 * landed(1)


def test_a_wake_comes_when_asked_for():
  class Waking(OneByOne):
    def decide(self, event, world):
      yield from super().decide(event, world)
      if isinstance(event, Arrived):
        yield Wake(event.at_ps + 7)

  log = simulate(make_run(), [request(0, 4, 2, 5)], wrap=Waking)[0]
  assert log.of(Woke) == [Woke(12, 12)]


class TenPs:
  """Every step takes 10 ps."""

  def step(self, shape):
    return (Segment(shape.repeats, 10),)


class CutsWhenDone:
  """Serves request n on worker n; when 0 ends, interrupts 1's run."""

  def __init__(self, first_worker):
    self._workers = (first_worker, 1 - first_worker)

  def decide(self, event, world):
    if isinstance(event, Arrived):
      request, worker = event.request.id, self._workers[event.request.id]
      yield Route(request, worker)
      yield Reserve(request, worker, 1)
      yield Step(worker, prefill=((request, 1),))
      return
    request = self._workers.index(event.worker)
    if not world.progress[request].ended:
      yield Step(event.worker, decode=(request,), repeats=9)
    elif request == 0:
      yield Interrupt(self._workers[1])


@pytest.mark.parametrize("first_worker, steps", [(0, 2), (1, 3)])
def test_a_step_ending_now_is_in_flight_until_told(first_worker, steps):
  """Request 0 ends at 30 ps, when the other worker ends a step too: that step
  is told after (worker 1's) or before (worker 0's)."""
  specs = [
      WorkerSpec(
          id=n, role="C", pool_pages=9, page_tokens=PAGE, max_num_seqs=9
      )
      for n in range(2)
  ]
  requests = [request(0, 1, 3), request(1, 1, 10)]
  backend = SimulatedBackend(
      Open(requests), [3, 10], [TenPs(), TenPs()], [Link(1), Link(1)]
  )
  log = serve(CutsWhenDone(first_worker), backend, World(specs))
  (cut, *_) = [
      event for event in log.of(StepEnded)
      if event.worker != first_worker and event.started_ps == 10
  ]
  assert (cut.steps, cut.at_ps) == (steps, 10 + 10 * steps)


# Laws. -----------------------------------------------------------------------

requests = st.lists(
    st.tuples(
        st.integers(1, 200),  # prompt
        st.integers(1, 60),  # declared
        st.integers(1, 60),  # true, cut to the declared
        st.integers(0, 40),  # gap, ms
    ),
    min_size=1, max_size=12,
)
designs = st.sampled_from([
    ("continuous", "1C", None), ("continuous", "2C", None),
    ("chunked", "1C", 64), ("disaggregated", "1P1D", None),
    ("disaggregated", "2P1D", None), ("disaggregated", "1P2D", 64),
])


def drawn_run(design, kv_tokens, reserve_pages, ahead=0):
  kind, split, chunk_size = design
  return make_run(
      kind, split,
      cluster={"kv_tokens": kv_tokens, "reserve_pages": reserve_pages},
      strategy={"chunk_size": chunk_size},
      engine=config.Engine(dispatch_ahead=ahead),
  )


def drawn_requests(drawn):
  arrival_ps, made, truth = 0, [], []
  for prompt, declared, true, gap_ms in drawn:
    arrival_ps += gap_ms * 10**9
    made.append(request(len(made), prompt, declared, arrival_ps))
    truth.append(min(true, declared))
  return made, truth


@settings(max_examples=80, deadline=None)
@given(requests, designs, st.integers(280, 1500), st.integers(0, 2))
def test_a_run_of_steps_equals_the_steps_one_by_one(
    drawn, design, kv_tokens, reserve_pages
):
  run = drawn_run(design, kv_tokens, reserve_pages)
  made, truth = drawn_requests(drawn)
  whole = simulate(run, made, truth)[0]
  single = simulate(run, made, truth, wrap=OneByOne)[0]
  assert token_times(whole) == token_times(single)
  kinds = (TransferEnded, TransferProgressed, Preempt)
  assert whole.of(*kinds) == single.of(*kinds)


@settings(max_examples=40, deadline=None)
@given(requests, designs, st.integers(280, 1500), st.integers(0, 1))
def test_all_end_with_empty_pools_and_the_same_log_again(
    drawn, design, kv_tokens, ahead
):
  run = drawn_run(design, kv_tokens, 1, ahead)
  made, truth = drawn_requests(drawn)
  log, _, world = simulate(run, made, truth)
  for worker in world.workers:
    assert worker.pool.free_pages == worker.spec.pool_pages
  generated = [world.progress[r.id].generated_tokens for r in made]
  assert generated == truth
  assert list(log) == list(simulate(run, made, truth)[0])


@settings(max_examples=40, deadline=None)
@given(requests, designs, st.integers(0, 1), st.data())
def test_no_decision_looks_ahead(drawn, design, ahead, data):
  """Answers that differ only after a time change no command before it."""
  made, truth = drawn_requests(drawn)
  run = drawn_run(design, 1500, 1, ahead)
  log = simulate(run, made, truth)[0]
  victim = data.draw(st.integers(0, len(made) - 1))
  other = list(truth)
  other[victim] = data.draw(st.integers(1, made[victim].max_tokens))
  shorter = min(truth[victim], other[victim])
  # The worlds are the same until the victim has made the shorter answer.
  times = token_times(simulate(
      run, made, [*truth[:victim], shorter, *truth[victim + 1:]]
  )[0])
  until_ps = times[victim][-1]
  changed = simulate(run, made, other)[0]

  def commands(log):
    return [
        (at_ps, entry) for at_ps, entry in log
        if at_ps < until_ps and not isinstance(entry, StepEnded)
    ]

  assert commands(log) == commands(changed)
