"""Adaptive chunks: as large as the limit on a step's time allows."""

import dataclasses

import pytest

from pdjax.config import SLO, ConfigError
from pdjax.events import Route, Step, StepEnded
from pdjax.schedule.adaptive import AdaptiveChunk
from pdjax.schedule.batching import largest
from pdjax.schedule.setup import policy_of
from pdjax.segments import Segment
from tests.laws.cluster import load_of, run_config, serve_load
from tests.schedule.worlds import arrive, end_step, world_of


class PerToken:
  """A pass takes 10 a prompt token, 1 an attended token, and counts."""

  asked = 0

  def step(self, shape):
    self.asked += 1
    attended = sum(cached for _, cached in shape.prefill)
    tokens = sum(tokens for tokens, _ in shape.prefill)
    at_ps = 10 * tokens + attended + shape.decode_context_tokens
    return (Segment(1, at_ps),)

@pytest.mark.parametrize("most", [1, 2, 7, 8, 100])
@pytest.mark.parametrize("limit", [0, 1, 7, 99, 100, 1000])
def test_the_largest_that_holds(most, limit):
  assert largest(most, lambda n: n <= limit) == min(most, limit)

def started(limit_ps, *, chunk_size=64, prompt=100):
  """Chunks of a long prompt beside a decode of 8 tokens."""
  world, _ = world_of(pages=100, chunk_size=chunk_size)
  rule = AdaptiveChunk([PerToken()], limit_ps)
  worker = world.workers[0]

  def batched():
    steps = [world.start(c) for c in rule.batch(worker, world)]
    return next(s for s in steps if isinstance(s, Step))

  arrive(world, 0, 8, most=50)
  world.start(Route(0, 0))
  assert batched().prefill == ((0, 8),)
  end_step(world, 0)
  arrive(world, 1, prompt)
  world.start(Route(1, 0))
  chunks, run = [], 1
  while world.progress[1].remaining_prefill_tokens:
    step = batched()
    assert step.decode == (0,)
    chunks.append(step.prefill[0][1])
    end_step(world, run)
    run += 1
  return chunks

def test_chunks_shrink_as_prefix_and_context_grow():
  """9 attended by the decode, then 10; the prefix counts once a token.

  300 - 9 = 291 -> 29; 300 - 10 - 29 = 261 -> 26; 300 - 11 - 55 = 234 -> 23;
  300 - 12 - 78 = 210 -> 21; one is left.
  """
  assert started(300) == [29, 26, 23, 21, 1]

def test_the_budget_is_the_most():
  """15 tokens beside one decode."""
  assert started(10**6, chunk_size=16) == [15] * 6 + [10]

def test_a_page_is_computed_however_short_the_limit():
  assert started(1, prompt=10) == [4, 4, 2]

def test_nothing_is_asked_where_nothing_decodes():
  world, _ = world_of(pages=100, chunk_size=64)
  arrive(world, 0, 60)

  world.start(Route(0, 0))
  cost = PerToken()
  rule = AdaptiveChunk([cost], 1)
  *_, step = map(world.start, rule.batch(world.workers[0], world))
  assert isinstance(step, Step) and step.prefill == ((0, 60),)
  assert cost.asked == 0

LOAD = ((0, 30, 40), (1, 30, 40), (50_000, 140, 5), (50_001, 140, 5))

def longest_mixed_ps(run):
  log, _ = serve_load(run, load_of(*LOAD))
  mixed = {s.run for s in log.of(Step) if s.prefill and s.decode}
  return max(
      entry.segments[0].first_ps for _, entry in log
      if isinstance(entry, StepEnded) and entry.run in mixed
  )

def test_steps_with_decodes_keep_the_limit():
  chunked = run_config("chunked", kv_tokens=2000, chunk_size=128)
  adaptive = run_config("adaptive_chunk", kv_tokens=2000, chunk_size=128)
  limit_ps = round(adaptive.slo.tpot_s * 10**12)
  assert longest_mixed_ps(adaptive) <= limit_ps < longest_mixed_ps(chunked)

def test_the_limit_is_the_slos():
  run = run_config("adaptive_chunk", kv_tokens=2000, chunk_size=128)
  looser = dataclasses.replace(run, slo=SLO(tpot_s=1.0))
  logs = [list(serve_load(one, load_of(*LOAD))[0]) for one in (run, looser)]
  assert logs[0] != logs[1]

def test_without_costs_it_is_refused():
  with pytest.raises(ConfigError, match="step costs"):
    policy_of(run_config("adaptive_chunk"))
