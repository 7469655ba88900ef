"""Law 8: what is faster, or less, never slows a request that is alone.

Whole requests through every strategy and way of handing over, where steps and
copies of pages meet; single steps are in tests/simulate/test_costs.py. Without
a staging budget: with one a faster link may let copies run before the prompt's
end that else ran after it.
"""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.config import HANDING_OVER, Link, Model
from tests.laws.cluster import (
  KINDS,
  load_of,
  run_config,
  serve_load,
  token_times,
)

FIGURES = ("bf16_flops", "hbm_bytes_per_s", "interconnect_bytes_per_s")
LIKE = {"like": "a100-80gb-sxm"}
PEAKS = {
    "bf16_flops": 312e12, "hbm_bytes_per_s": 2039e9,
    "interconnect_bytes_per_s": 300e9,
}


@st.composite
def clusters(draw):
  """A run of one request on a chip of one's own."""
  run = run_config(draw(st.sampled_from(KINDS)), kv_tokens=10_000)
  kept = draw(st.sampled_from([None, 1e8, 3e9, 1e11]))
  cluster = dataclasses.replace(
      run.cluster, chip="mine", chips={"mine": LIKE},
      tp=draw(st.sampled_from([1, 2, 4])), pp=draw(st.sampled_from([1, 2])),
      microbatches=draw(st.sampled_from([1, 3])),
      link=Link(
          bandwidth_bytes_per_s=kept,
          latency_s=draw(st.sampled_from([0.0, 1e-3])),
      ),
  )
  preset = draw(st.sampled_from(["llama-2-7b", "mixtral-8x7b", "phi-2"]))
  return dataclasses.replace(
      run, cluster=cluster, model=Model(preset=preset, weight_dtype="int4")
  )


def changed(run, **cluster):
  return dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, **cluster)
  )


def times(run, prompt_tokens, output_tokens):
  log, _ = serve_load(run, load_of((0, prompt_tokens, output_tokens)))
  return token_times(log)[0]


def assert_no_later(sooner, later):
  assert all(a <= b for a, b in zip(sooner, later, strict=True))


@settings(max_examples=60, deadline=None)
@given(
    clusters(), st.integers(1, 700), st.integers(1, 40),
    st.sampled_from(FIGURES), st.floats(1.001, 100), st.integers(1, 700),
)
def test_faster_or_shorter_is_never_slower(
    run, prompt_tokens, output_tokens, figure, factor, fewer
):
  before = times(run, prompt_tokens, output_tokens)
  chips = {"mine": LIKE | {figure: PEAKS[figure] * factor}}
  assert_no_later(
      times(changed(run, chips=chips), prompt_tokens, output_tokens), before
  )
  link = run.cluster.link
  if run.strategy.kind in HANDING_OVER and link.bandwidth_bytes_per_s:
    wider = dataclasses.replace(
        link, bandwidth_bytes_per_s=link.bandwidth_bytes_per_s * factor,
        latency_s=link.latency_s / factor,
    )
    assert_no_later(
        times(changed(run, link=wider), prompt_tokens, output_tokens), before
    )
  shorter = min(fewer, prompt_tokens)
  assert_no_later(times(run, shorter, output_tokens), before)
