"""Passes padded as our own engine pads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import config
from pdjax.buckets import Limits, packed, plan
from pdjax.config import ConfigError
from pdjax.events import StepEnded
from pdjax.models.presets import preset
from pdjax.passlimits import pass_limits
from pdjax.schedule.cost import StepShape
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.segments import Segment
from pdjax.simulate.chips import chip
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.padded import PaddedCost
from pdjax.workload.clients import Open
from tests.simulate.serving import OneByOne, make_run, request, token_times

COST = AnalyticalCost(preset("llama-3-8b"), chip("a100-80gb-sxm"))
BUCKETS = plan(Limits(B=8, U=512, M=32, kinds=("prefill", "decode")), 8)
PADDED = PaddedCost(COST, BUCKETS)


def test_a_full_bucket_of_decodes_costs_what_it_did():
  for seqs in BUCKETS.B:
    shape = StepShape((), seqs, 100 * seqs, repeats=5)
    assert PADDED.step(shape) == COST.step(shape)


def test_decodes_are_padded_and_grow_by_those_that_are_there():
  few, most = BUCKETS.B[-2] + 1, BUCKETS.B[-1]
  shape = StepShape((), few, 1000, repeats=3)
  (padded,) = PADDED.step(shape)
  (whole,) = COST.step(StepShape((), most, 1000, repeats=3))
  (bare,) = COST.step(shape)
  assert padded.first_ps == whole.first_ps >= bare.first_ps
  assert padded.slope_ps == bare.slope_ps < whole.slope_ps


def test_a_prompt_is_packed_into_passes_and_the_last_one_padded():
  shape = StepShape(((700, 0), (40, 16)), 3, 90)
  first, last = PADDED.passes(shape)
  assert first.prefill == ((512, 0),) and not first.decode_seqs
  assert last.prefill == ((188, 512), (40, 16)) and last.decode_seqs == 3
  assert PADDED.rows(first) == 512
  assert PADDED.rows(last) == min(u for u in BUCKETS.U if u >= 228) + 8
  (step,) = PADDED.step(shape)
  alone = [PADDED.step(one)[0].first_ps for one in (first, last)]
  assert step == Segment(1, sum(alone))


@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
    st.integers(1, 50),
    st.integers(1, 8),
)
def test_packing_loses_nothing_and_fills_passes(sizes, tokens, rows):
  packs = list(packed(sizes, tokens, rows))
  took = [0] * len(sizes)
  for pack in packs:
    assert 0 < len(pack) <= rows
    assert 0 < sum(size for _, size in pack) <= tokens
    for chunk, size in pack:
      took[chunk] += size
  assert took == sizes
  # A pass ends because it is full, in tokens or in rows.
  for pack in packs[:-1]:
    assert len(pack) == rows or sum(size for _, size in pack) == tokens


def padded_run(**more):
  return make_run(
      "chunked", strategy={"chunk_size": 64}, cluster={"kv_tokens": 2048},
      backend=config.Backend(padding="engine"), **more,
  )


def served(run, requests, wrap=lambda policy: policy):
  cluster = cluster_of(run).padded(
      run, [r.prompt_tokens + r.max_tokens for r in requests]
  )
  backend = cluster.backend(Open(requests), [r.max_tokens for r in requests])
  return serve(wrap(policy_of(run)), backend, world_of(run, cluster.pool_pages))


@settings(max_examples=30, deadline=None)
@given(st.lists(
    st.tuples(st.integers(1, 200), st.integers(1, 40), st.integers(0, 10**10)),
    min_size=1, max_size=6,
))
def test_runs_equal_single_steps(rows):
  rows = sorted(rows, key=lambda row: row[2])
  requests = [request(id, *row) for id, row in enumerate(rows)]
  run = padded_run()
  by_runs, by_steps = served(run, requests), served(run, requests, OneByOne)
  assert token_times(by_runs) == token_times(by_steps)


def test_fewer_programs_pad_more_and_take_longer():
  requests = [request(i, 90 + 7 * i, 30, i * 10**9) for i in range(12)]

  def end_ps(max_programs):
    run = padded_run(engine=config.Engine(max_programs=max_programs))
    return max(e.at_ps for e in served(run, requests).of(StepEnded))

  assert end_ps(3) > end_ps(24)


def test_too_few_programs_are_refused():
  run = padded_run(engine=config.Engine(max_programs=2))
  with pytest.raises(ConfigError, match="max_programs: must be at least 3"):
    cluster_of(run).padded(run, [100])


def test_it_says_that_passes_are_padded():
  run = padded_run()
  padded = cluster_of(run).padded(run, [100])
  assert "passes padded" in padded.profile
  assert padded.profile != cluster_of(run).profile
  (told,) = padded.provenance
  buckets = plan(pass_limits(run, 8, [100], [128], [None])[0], 24)
  assert told["padded_prompt_tokens"] == list(buckets.U)
  assert told["padded_sequences"] == list(buckets.B)


