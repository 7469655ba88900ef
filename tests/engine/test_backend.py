"""Law 5 and its companions on colocated workers of the tiny model."""

import dataclasses
import itertools
import threading

import numpy as np
import pytest

from pdjax import config, events
from pdjax.buckets import plan
from pdjax.calibrate.observe import observe
from pdjax.engine import capacity
from pdjax.engine.crew import EngineError
from pdjax.engine.replica import Replica
from pdjax.engine.verify import verify_tokens
from pdjax.models.presets import preset
from pdjax.schedule import policies, setup
from pdjax.schedule.batching import Continuous
from pdjax.schedule.loop import serve
from pdjax.simulate.chips import chip
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.padded import PaddedCost
from pdjax.window import Window
from pdjax.workload.clients import Behaviour
from tests.engine.engine_session import (
    OUTPUT_TOKENS,
    PROMPT_TOKENS,
    check_tokens,
    engine_of,
    prompts,
    run_of,
    serve_on,
    workload,
)

CHUNKED = run_of("1C", "chunked", chunk_size=32)
TINY = preset("tiny")


@pytest.fixture(name="engine", scope="module")
def _engine():
  with engine_of(CHUNKED) as backend:
    yield backend


@pytest.fixture(name="truth", scope="module")
def _truth(engine):
  """Tokens of whole prompts, one after the other."""
  served = serve_on(engine, run_of("1C"))
  assert tuple(map(len, served.tokens.values())) == OUTPUT_TOKENS
  assert engine.compiles_in_window == 0
  check_tokens(engine, workload())
  return served


@pytest.mark.parametrize("chunk_size", [7, 16, 32])
def test_chunks_do_not_change_tokens(engine, truth, chunk_size):
  run = run_of("1C", "chunked", chunk_size=chunk_size)
  served = serve_on(engine, run, workload(gap_ps=0))
  assert served.same_tokens(truth)
  steps = served.log.of(events.Step)
  assert any(step.prefill and step.decode for step in steps)
  assert all(sum(n for _, n in step.prefill) <= chunk_size for step in steps)
  assert engine.compiles_in_window == 0


def test_decodes_beside_whole_prompts_keep_tokens(engine, truth):
  run = run_of("1C", decode_first=True)
  served = serve_on(engine, run, workload(gap_ps=0))
  assert served.same_tokens(truth)
  steps = served.log.of(events.Step)
  assert any(step.prefill and step.decode for step in steps)
  assert all(
      tokens == PROMPT_TOKENS[request]
      for step in steps for request, tokens in step.prefill
  )


def test_a_static_batch_keeps_tokens(engine, truth):
  served = serve_on(engine, run_of("1C", "static"), workload(gap_ps=0))
  assert served.same_tokens(truth)
  assert not served.log.of(events.Interrupt)
  unended: set[int] = set()
  decoding = False
  for _, entry in served.log:
    match entry:
      case events.Reserve():
        assert not decoding  # nobody joins a batch under way
        unended.add(entry.request)
      case events.Step():
        decoding = bool(entry.decode)
      case events.StepEnded():
        unended -= dict(entry.finished).keys()
        decoding = decoding and bool(unended)
  assert not unended


@pytest.mark.parametrize("kind", ["continuous", "chunked"])
def test_preempted_requests_recompute_their_tokens(engine, truth, kind):
  run = run_of("1C", kind, chunk_size=32, kv_tokens=13 * 8, reserve_pages=0)
  served = serve_on(engine, run, workload(gap_ps=0))
  assert served.preemptions > 0
  assert served.same_tokens(truth)


def test_kernels_make_the_same_tokens(truth):
  """The TPU's, interpreted, each device on its own heads, in mixed passes."""
  run = run_of("1C", "chunked", chunk_size=32, tp=2)
  run = dataclasses.replace(
      run, engine=config.Engine(kernels="pallas_interpret")
  )
  with engine_of(run, max_programs=3) as backend:
    served = serve_on(backend, run)
  assert served.same_tokens(truth)
  steps = served.log.of(events.Step)
  assert any(step.prefill and step.decode for step in steps)


def test_kernels_asked_for_on_other_devices_are_refused():
  run = dataclasses.replace(
      run_of("1C"), engine=config.Engine(kernels="pallas_tpu")
  )
  with pytest.raises(config.ConfigError, match="engine.kernels: .* for a tpu"):
    engine_of(run)


def test_steps_one_by_one_make_the_same_tokens(engine, truth):
  class OneByOne(Continuous):
    def batch(self, worker, world):
      for command in super().batch(worker, world):
        if isinstance(command, events.Step):
          command = dataclasses.replace(command, repeats=1)
        yield command

  def policy(run):
    return policies.Composed(setup.placement_of(run), OneByOne())

  served = serve_on(engine, run_of("1C"), policy=policy)
  ended = served.log.of(events.StepEnded)
  assert {event.steps for event in ended} == {1}
  assert served.same_tokens(truth)


def test_a_users_policy_keeps_tokens(engine, truth):
  run = run_of("1C", "examples.my_policy:ShortestFirst")
  strategy = dataclasses.replace(run.strategy, options={"chunk_size": 32})
  run = dataclasses.replace(run, strategy=strategy)
  served = serve_on(engine, run, workload(gap_ps=0))
  assert served.same_tokens(truth)
  steps = served.log.of(events.Step)
  assert any(step.prefill and step.decode for step in steps)


@pytest.mark.parametrize("ahead", [0, 1])
def test_a_newcomer_ends_a_run_after_the_steps_in_flight(
    ahead, truth, monkeypatch
):
  """The worker is kept from its fourth step until someone has arrived."""
  run = run_of("1C", ahead=ahead)
  someone = threading.Event()
  with engine_of(run, max_programs=2) as backend:
    (worker,) = backend._crew.workers
    decode, steps = worker.replica.decode, itertools.count(1)

    def gated(*args):
      if next(steps) > 3:
        assert someone.wait(60)
      return decode(*args)

    def watch(event, world):
      if isinstance(event, events.Arrived) and event.request.id == 1:
        someone.set()

    monkeypatch.setattr(worker.replica, "decode", gated)
    load = workload(gap_ps=300_000_000_000, requests=2)
    served = serve_on(backend, run, load, watch=watch)
  assert served.log.of(events.Interrupt)
  first = next(e for e in served.log.of(events.StepEnded) if e.run == 1)
  settled = next(m for m in served.log.of(events.Settled) if m.run == 1)
  # Step 4 was claimed, and waited at the gate; with dispatch ahead it was
  # claimed when step 3 was still to be read.
  assert first.steps == settled.steps == 4
  assert served.tokens[0] == truth.tokens[0]
  assert served.tokens[1] == truth.tokens[1]


def test_dispatch_ahead_makes_the_same_tokens(truth):
  with engine_of(dataclasses.replace(CHUNKED, engine=config.Engine(
      dispatch_ahead=1
  ))) as backend:
    for run in (run_of("1C"), CHUNKED):
      assert serve_on(backend, run).same_tokens(truth)
    tight = run_of("1C", kv_tokens=13 * 8, reserve_pages=0)
    served = serve_on(backend, tight, workload(gap_ps=0))
    assert served.preemptions > 0
    assert served.same_tokens(truth)


def test_dispatch_ahead_runs_past_an_end_by_one_step():
  """The row that ended does not keep the token of the step in flight."""
  run = run_of("1C", ahead=1)
  with engine_of(run, max_programs=2) as backend:
    served = serve_on(backend, run, workload(gap_ps=0))
    ended = served.log.of(events.StepEnded)
    over = [
        event.steps - tokens
        for event in ended for _, tokens in event.finished
    ]
    assert 1 in over and set(over) <= {0, 1}
    check_tokens(backend, workload())


def test_end_tokens_end_answers(truth):
  """The first end token is the last of its answer; without one, the cap."""
  end_ids = (truth.tokens[0][6], truth.tokens[5][3])
  sampling = config.Sampling(stop_ids=end_ids[1:])
  run = run_of("1C", stop="eos", sampling=sampling)
  with engine_of(run, end_ids=end_ids[:1], max_programs=2) as backend:
    served = serve_on(backend, run)
  for id, tokens in truth.tokens.items():
    ends = [i for i, token in enumerate(tokens) if token in end_ids]
    expected = tokens[: ends[0] + 1] if ends else tokens
    assert served.tokens[id] == expected
  assert len(served.tokens[0]) <= 7


def test_wrong_tokens_do_not_pass_the_check(engine):
  serve_on(engine, run_of("1C"))
  engine.tokens[0][4] ^= 1
  found = verify_tokens(engine, workload(), 1)
  # The token itself, and perhaps those that were said to follow it.
  assert found.requests == 1 and found.different >= 1


def test_poison_is_everywhere_before_a_run(engine):
  engine.reset(workload(), prompts())
  (worker,) = engine._crew.workers
  assert np.isnan(np.asarray(worker.replica._pool)).all()


def test_longer_requests_than_compiled_for_are_refused(engine):
  load = workload()
  long = dataclasses.replace(load.requests[0], prompt_tokens=200)
  load = dataclasses.replace(load, requests=(long, *load.requests[1:]))
  with pytest.raises(ValueError, match="compiled for 12"):
    engine.reset(load, prompts())


def test_padding_is_counted(engine):
  serve_on(engine, CHUNKED)
  (padding,) = engine.padding
  prefilled = sum(PROMPT_TOKENS)
  decoded = sum(OUTPUT_TOKENS) - len(OUTPUT_TOKENS)
  assert padding.filled_tokens == prefilled + decoded
  assert 0 < engine.padded_token_fraction < 1


def test_the_simulator_pads_what_the_engine_pads(engine):
  served = serve_on(engine, CHUNKED, workload(gap_ps=0))
  (limits,) = capacity.limits_of(engine.run, TINY, workload())
  buckets = plan(limits, max_programs=6)
  assert buckets == engine.replicas[0].buckets
  cost = PaddedCost(AnalyticalCost(TINY, chip("h100-sxm")), buckets)
  world = setup.world_of(CHUNKED, capacity.pool_pages_of(CHUNKED))
  seen = observe(served.log, setup.policy_of(CHUNKED), world)
  passes = [each for one in seen.steps for each in cost.passes(one.shape)]
  (padding,) = engine.padding
  assert sum(each.tokens for each in passes) == padding.filled_tokens
  assert sum(map(cost.rows, passes)) == (
      padding.filled_tokens + padding.padded_tokens
  )


def test_timers_ring(engine):
  class Sleepy:
    def __init__(self, inner):
      self.inner = inner

    def decide(self, event, world):
      if isinstance(event, events.Arrived) and event.request.id == 0:
        yield events.Wake(event.at_ps + 1_000_000_000)
      yield from self.inner.decide(event, world)

  def policy(run):
    return Sleepy(setup.policy_of(run))

  served = serve_on(engine, run_of("1C"), policy=policy)
  (woke,) = served.log.of(events.Woke)
  assert woke.at_ps >= woke.asked_ps


def test_arrivals_are_never_early(truth):
  for event in truth.log.of(events.Arrived):
    assert event.at_ps >= event.request.arrival_ps


def test_a_compile_in_the_window_is_noticed(engine, truth):
  (worker,) = engine._crew.workers
  worker.replica._compiled.clear()
  served = serve_on(engine, run_of("1C"))
  assert engine.compiles_in_window >= 2
  assert served.same_tokens(truth)
  engine._crew.prepare(lambda line: None)


def test_a_workers_exception_surfaces(monkeypatch):
  run = run_of("1C")
  with engine_of(run, max_programs=2) as backend:
    (worker,) = backend._crew.workers

    def broken(*_):
      raise FloatingPointError("lost a bit")

    monkeypatch.setattr(worker.replica, "decode", broken)
    with pytest.raises(
        EngineError, match="worker 0 failed: FloatingPointError: lost a bit"
    ):
      serve_on(backend, run)


def test_closing_ends_a_run_under_way():
  run = run_of("1C")
  with engine_of(run, max_programs=2) as backend:
    world = setup.world_of(run, [100])

    class Enough(Exception):
      pass

    def watch(event, world):
      if isinstance(event, events.StepEnded):
        raise Enough

    with pytest.raises(Enough):
      serve(setup.policy_of(run), backend, world, watch)
    with pytest.raises(RuntimeError, match="not over"):
      backend.reset(workload(), [])
  threads = [*(w._thread for w in backend._crew.workers)]
  assert not any(thread.is_alive() for thread in threads)


def test_closing_leaves_what_is_not_compiled_yet(monkeypatch):
  class Enough(Exception):
    pass

  rehearsed, rehearse = [], Replica._rehearse

  def counted(self, shape):
    rehearsed.append(shape)
    rehearse(self, shape)

  def enough(line):
    raise Enough

  monkeypatch.setattr(Replica, "_rehearse", counted)
  with pytest.raises(Enough):
    engine_of(run_of("1C"), max_programs=6, progress=enough)
  assert len(rehearsed) < 6


def test_several_lanes_are_refused(engine):
  run = run_of("1C")
  engine.reset(workload(), [])
  world = setup.world_of(run, [100])
  world.workers[0].runs.append(None)
  engine.next_event()
  with pytest.raises(config.ConfigError, match="lanes"):
    engine.start(events.Step(0), world)


def test_a_closed_loop_waits_for_answers(engine, truth):
  count = len(PROMPT_TOKENS)
  load = dataclasses.replace(workload(), behaviour=Behaviour(
      first_ps=(0, 0), think_ps=(10**9,) * count, stays=(True,) * count
  ))
  served = serve_on(engine, run_of("1C"), load)
  assert served.same_tokens(truth)
  present = most = 0
  for _, entry in served.log:
    if isinstance(entry, events.Arrived):
      present += 1
      most = max(most, present)
    elif isinstance(entry, events.StepEnded):
      present -= len(entry.finished)
  assert most == 2
  arrivals = served.log.of(events.Arrived)
  assert all(e.at_ps >= e.request.arrival_ps for e in arrivals)
  assert arrivals[2].request.arrival_ps > 10**9


def test_a_window_is_over_when_its_requests_are(engine):
  load = dataclasses.replace(workload(), window=Window(10**9, 5 * 10**9))
  served = serve_on(engine, run_of("1C"), load)
  states = {p.id: p.state.value for p in served.world.progress.values()}
  measured = [1, 2]  # at 2 and 4 ms
  assert [states[id] for id in measured] == ["finished"] * 2
  assert set(states.values()) <= {"finished", "aborted"}
