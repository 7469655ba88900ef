"""Placements, routers and batching rules, seen through their commands."""

import dataclasses

import pytest

from pdjax.config import ConfigError, Pool
from pdjax.events import (
  Arrived,
  Fail,
  Interrupt,
  Preempt,
  Reserve,
  Route,
  Step,
  StepEnded,
  Transfer,
  TransferEnded,
  Wake,
  Woke,
)
from pdjax.request import Request, State
from pdjax.schedule.batching import Chunked, Continuous, Static, make_room
from pdjax.schedule.loop import Stalled, serve
from pdjax.schedule.setup import policy_of
from pdjax.segments import Segment
from tests.laws.cluster import ROUTERS, load_of, run_config, serve_load
from tests.schedule.worlds import arrive, end_step, world_of


def route_all(world, *prompts, most=10):
  for request, prompt in enumerate(prompts):
    arrive(world, request, prompt, most, at_ps=request)
    world.start(Route(request, 0))


def batch(rule, world):
  """Asks a rule about worker 0 and starts what it yields."""
  started = []
  for command in rule.batch(world.workers[0], world):
    started.append(world.start(command))
  return started


def step_of(commands):
  steps = [c for c in commands if isinstance(c, Step)]
  return steps[0] if steps else None


def test_continuous_takes_whole_prompts_up_to_its_budget():
  world, _ = world_of(pages=100, max_num_batched_tokens=20)
  route_all(world, 8, 9, 7)
  assert step_of(batch(Continuous(), world)).prefill == ((0, 8), (1, 9))


def test_continuous_runs_one_prompt_over_the_budget_alone():
  world, _ = world_of(pages=100, max_num_batched_tokens=20)
  route_all(world, 50, 3)
  assert step_of(batch(Continuous(), world)).prefill == ((0, 50),)


def test_continuous_lets_decodes_wait_for_a_prompt():
  world, _ = world_of(pages=100)
  route_all(world, 8)
  end_step(world, step_of(batch(Continuous(), world)).run)
  arrive(world, 1, 8, at_ps=50)
  world.start(Route(1, 0))
  step = step_of(batch(Continuous(), world))
  assert step.prefill == ((1, 8),) and not step.decode
  end_step(world, step.run)
  assert step_of(batch(Continuous(), world)).decode == (0, 1)


def test_decode_first_takes_prompts_in_beside_the_decodes():
  world, _ = world_of(pages=100, max_num_batched_tokens=20)
  rule = Continuous(decode_first=True)
  route_all(world, 8)
  end_step(world, step_of(batch(rule, world)).run)
  for request, prompt in ((1, 12), (2, 7), (3, 1)):
    arrive(world, request, prompt, at_ps=50)
    world.start(Route(request, 0))
  step = step_of(batch(rule, world))  # 1 + 12 + 7 = 20
  assert step.prefill == ((1, 12), (2, 7)) and step.decode == (0,)


def test_a_static_batch_runs_until_its_last_member_has_ended():
  world, _ = world_of(pages=100, max_num_batched_tokens=20)
  route_all(world, 8, 12, 7, most=20)
  step = step_of(batch(Static(), world))
  assert step.prefill == ((0, 8), (1, 12))
  end_step(world, step.run)
  route = arrive(world, 3, 4, at_ps=50)
  world.start(Route(3, 0))
  step = step_of(batch(Static(), world))  # the whole batch first
  assert step.prefill == ((2, 7),) and not step.decode
  end_step(world, step.run)
  step = step_of(batch(Static(), world))
  assert step.decode == (0, 1, 2)
  end_step(world, step.run, steps=9, finished=((0, 9), (1, 9)))
  step = step_of(batch(Static(), world))
  assert step.decode == (2,) and route.state is State.WAITING
  end_step(world, step.run, finished=((2, 1),))
  assert step_of(batch(Static(), world)).prefill == ((3, 4),)


def test_a_static_batch_holds_the_pages_of_its_longest_answers():
  world, _ = world_of(pages=11, reserve_pages=0)
  route_all(world, 8, 8, 8, most=12)  # 5 pages each, so two fit
  commands = batch(Static(), world)
  assert [c.pages for c in commands if isinstance(c, Reserve)] == [5, 5]
  run = step_of(commands)
  end_step(world, run.run)
  run = step_of(batch(Static(), world))
  assert run.repeats == 11 and world.workers[0].pool.free_pages == 1


def test_arrivals_do_not_interrupt_a_static_batch():
  log, _ = serve_load(
      run_config("static", kv_tokens=2000),
      load_of((0, 40, 50), (200_000, 40, 5)),
  )
  assert not log.of(Interrupt)
  assert [step.prefill for step in log.of(Step) if step.prefill] == [
      ((0, 40),), ((1, 40),)
  ]


def test_chunked_gives_decodes_their_token_and_prompts_the_rest():
  world, _ = world_of(pages=100, chunk_size=16)
  route_all(world, 12, 20)
  step = step_of(batch(Chunked(), world))
  assert step.prefill == ((0, 12), (1, 4))  # several partial prompts
  end_step(world, step.run)
  step = step_of(batch(Chunked(), world))
  assert step.prefill == ((1, 15),) and step.decode == (0,)
  assert step.repeats == 1
  end_step(world, step.run)
  step = step_of(batch(Chunked(), world))
  assert step.prefill == ((1, 1),)
  end_step(world, step.run)
  step = step_of(batch(Chunked(), world))
  assert step.decode == (0, 1) and step.repeats == 7  # 0 has made 3 of 10


def test_the_newest_is_preempted_first_and_the_oldest_never():
  world, _ = world_of(pages=9, reserve_pages=0)
  route_all(world, 8, 8, 8, most=20)
  end_step(world, step_of(batch(Continuous(), world)).run)
  assert world.workers[0].pool.free_pages == 0
  for _ in range(4):  # each holds 3 pages: 12 tokens, 8 of them computed
    run = world.start(Step(0, decode=(0, 1, 2)))
    end_step(world, run.run)
  preempted = [
      world.start(c) for c in make_room(world.workers[0])
      if isinstance(c, Preempt)
  ]
  assert preempted == [Preempt(2)]
  assert list(world.workers[0].decoding) == [0, 1]


def test_every_worker_gets_requests():
  for name in ROUTERS:
    for kind, split in (("continuous", "4C"), ("disaggregated", "2P2D")):
      run = run_config(kind, split, router=name, kv_tokens=2000)
      load = load_of(*((i * 1000, 40, 10) for i in range(24)))
      log, _ = serve_load(run, load)
      used = {step.worker for step in log.of(Step)}
      assert used == {0, 1, 2, 3}, (name, kind)


def test_a_blocked_hand_off_lets_a_smaller_one_pass():
  """D has 10 pages; the second request needs 9 of them, the third 2."""
  run = run_config("disaggregated", page_tokens=16, reserve_pages=0)
  pools = (
      Pool(role="P", count=1, kv_tokens=800),
      Pool(role="D", count=1, kv_tokens=160),
  )
  cluster = dataclasses.replace(run.cluster, pools=pools)
  run = dataclasses.replace(run, cluster=cluster)
  load = load_of((0, 60, 60), (10, 130, 5), (20, 20, 5))
  log, _ = serve_load(run, load)
  order = [transfer.request for transfer in log.of(Transfer)]
  assert order == [0, 2, 1]


def test_a_hand_off_reserves_its_first_decode_page_before_it_moves():
  run = run_config("disaggregated", page_tokens=16)
  log, _ = serve_load(run, load_of((0, 32, 4)))
  on_d = [r for r in log.of(Reserve) if r.worker == 1]
  assert on_d == [Reserve(0, 1, 3)]  # 32 tokens fill 2 pages; 1 more
  assert log.of(Transfer)[0].pages == (0, 2)


def test_pages_are_gathered_before_the_next_prefill_begins():
  run = run_config("disaggregated", kv_tokens=2000)
  log, _ = serve_load(run, load_of((0, 100, 5), (1, 100, 5)))
  order = [
      (type(c).__name__, c.request if isinstance(c, Transfer) else c.prefill)
      for c in log.commands()
      if isinstance(c, Transfer) or (isinstance(c, Step) and c.prefill)
  ]
  assert order == [
      ("Step", ((0, 100),)), ("Transfer", 0), ("Step", ((1, 100),)),
      ("Transfer", 1),
  ]


def test_a_transfer_that_keeps_failing_fails_the_request():
  world, _ = world_of("PD")
  policy = policy_of(run_config("disaggregated"))
  asked = Request(id=0, arrival_ps=0, prompt_tokens=8, max_tokens=9)
  started, event, pauses_ps = [], Arrived(0, asked), []
  for _ in range(12):
    world.apply(event)
    started += [world.start(c) for c in policy.decide(event, world)]
    last = started[-1]
    if isinstance(last, Step):
      event = StepEnded(1, 0, 0, last.run, 0, 1, (Segment(1, 1),))
    elif isinstance(last, Transfer):
      at_ps = world.now_ps + 1
      event = TransferEnded(at_ps, last.transfer, 0, 0, "checksum")
    elif isinstance(last, Wake):
      pauses_ps.append(last.at_ps - world.now_ps)
      event = Woke(last.at_ps, last.at_ps)
    else:
      break
  assert sum(isinstance(c, Transfer) for c in started) == 3
  assert pauses_ps == [10**10, 2 * 10**10]
  assert isinstance(started[-1], Fail)
  assert started[-1].reason == (
      "transfer failed: checksum; 3 faults, faults.retries is 2"
  )
  assert world.progress[0].state is State.FAILED and world.unfinished == 0
  assert [w.pool.free_pages for w in world.workers] == [20, 20]


def test_an_arrival_interrupts_only_when_it_can_be_admitted():
  run = run_config("continuous", kv_tokens=2000)
  log, _ = serve_load(run, load_of((0, 40, 50), (200_000, 40, 5)))
  assert len(log.of(Interrupt)) == 1
  tight = run_config("continuous", kv_tokens=96)
  log, _ = serve_load(tight, load_of((0, 40, 50), (200_000, 40, 5)))
  assert len(log.of(Interrupt)) == 0


def users(kind, **options):
  run = run_config("continuous", "2C", kv_tokens=2000)
  strategy = dataclasses.replace(run.strategy, kind=kind, options=options)
  return dataclasses.replace(run, strategy=strategy)


def test_the_example_policy_runs_and_prefers_short_prompts():
  run = users("examples.my_policy:ShortestFirst", chunk_size=32)
  load = load_of((0, 120, 4), (1, 120, 4), (2, 120, 4), (3, 120, 4), (4, 20, 4))
  log, world = serve_load(run, load)
  assert world.unfinished == 0
  admitted = [reserve.request for reserve in log.of(Reserve)]
  assert admitted.index(4) < admitted.index(3)


@pytest.mark.parametrize(
    ("kind", "options", "words"),
    [
        ("no_such_module:Rule", {}, "No module named"),
        ("examples.my_policy:Nothing", {}, "Nothing"),
        ("examples.my_policy:ShortestFirst", {"chunks": 3}, "chunks"),
        ("collections:OrderedDict", {}, "neither"),
    ],
)
def test_a_users_mistake_is_one_line(kind, options, words):
  with pytest.raises(ConfigError, match=words) as caught:
    policy_of(users(kind, **options))
  assert len(caught.value.errors) == 1
  assert "\n" not in caught.value.errors[0]


class NoSteps:
  """A policy that only routes."""

  def decide(self, event, world):
    yield Route(event.request.id, 0)


class OneArrival:
  arriving = True

  def __init__(self, event):
    self._events = [event]

  def next_event(self):
    return self._events.pop() if self._events else None

  def start(self, command, world): ...

  def settle(self, worker, lane): ...

  def resume(self, worker, lane, repeats): ...


def test_a_policy_that_forgets_a_request_is_told_who_waits():
  world, _ = world_of()
  asked = Request(id=3, arrival_ps=0, prompt_tokens=4, max_tokens=4)
  with pytest.raises(Stalled, match="request 3 is waiting on worker 0"):
    serve(NoSteps(), OneArrival(Arrived(0, asked)), world)
