"""Transfer schedules on real devices: however pages move, tokens stay.

One engine of four workers that can each do all a worker may have to, and one
of two of different degrees: roles are labels, so they serve every split.
"""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pdjax import events, passlimits
from pdjax.config import Pool, TransferPlan
from pdjax.engine.verify import verify_tokens
from pdjax.request import Request
from pdjax.workload.workload import Workload
from tests.engine.engine_session import (
    MAX_TOKENS,
    OUTPUT_TOKENS,
    PAGE_TOKENS,
    PROMPT_TOKENS,
    engine_of,
    run_of,
    serve_on,
    workload,
)

SPLITS = ("1P1D", "1P3D", "3P1D", "2P2D")


LAYERS = TransferPlan(granularity="layers", layers=1, verify=True)
"""Engines made for it can move pages in all ways. The model has two layers."""


def any_role(split, **settings):
  """An engine whose workers can do all."""
  run = run_of(split, "elastic", chunk_size=32, plan=LAYERS, **settings)
  return small_engine(run)


def small_engine(run):
  """With one size of staging arrays."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(passlimits, "STAGING_RUNGS", 1)
    return engine_of(run, max_programs=9)


@pytest.fixture(name="four", scope="module")
def _four():
  with any_role("2P2D") as backend:
    yield backend


@pytest.fixture(name="degrees", scope="module")
def _degrees():
  with any_role("1P1D", tp={"P": 2, "D": 1}) as backend:
    yield backend


@st.composite
def loads(draw):
  """A workload within what the engines were compiled for, and its prompts."""
  rows = draw(st.lists(
      st.tuples(
          st.integers(0, 3), st.integers(1, max(PROMPT_TOKENS)),
          st.integers(1, MAX_TOKENS), st.integers(0, 3),
      ),
      min_size=2, max_size=6,
  ))
  at_ps, requests = 0, []
  for id, (gap, prompt, output, slack) in enumerate(rows):
    at_ps += gap * 10**9
    requests.append(Request(
        id=id, arrival_ps=at_ps, prompt_tokens=prompt,
        max_tokens=min(MAX_TOKENS, output + slack),
    ))
  outputs = tuple(min(MAX_TOKENS, output) for _, _, output, _ in rows)
  rng = np.random.default_rng(draw(st.integers(0, 9)))
  said = [
      rng.integers(256, size=r.prompt_tokens, dtype=np.int32) for r in requests
  ]
  return Workload(tuple(requests), outputs, {}), said


@st.composite
def plans(draw):
  granularity = draw(st.sampled_from(["request", "chunk", "layers"]))
  ahead = st.sampled_from(["prefill_start", "arrival"])
  late = st.just("prefill_end") if granularity == "request" else st.nothing()
  return TransferPlan(
      granularity=granularity, reserve_at=draw(late | ahead), verify=True,
      layers=1 if granularity == "layers" else None,
  )


def drawn(examples):
  """No shrinking: an example takes a second."""
  return settings(
      max_examples=examples, deadline=None, phases=[Phase.generate],
      suppress_health_check=[HealthCheck.function_scoped_fixture],
  )


def same_as_colocated(backend, run, load, said):
  """Serves a load apart and together; both runs are held to every law."""
  together = run_of("1C")
  truth = serve_on(backend, together, load, said=said)
  served = serve_on(backend, run, load, said=said)
  assert backend.compiles_in_window == 0
  assert served.same_tokens(truth)
  assert verify_tokens(backend, load, len(load.requests)).holds
  return served


@drawn(15)
@given(loads(), plans(), st.sampled_from(SPLITS), st.sampled_from([8, 20, 32]),
       st.sampled_from([13, 40, 100]))
def test_tokens_do_not_depend_on_schedule_or_split(
    four, load, plan, split, chunk_size, pages
):
  run = run_of(
      split, "disaggregated", chunk_size=chunk_size, plan=plan,
      kv_tokens=pages * PAGE_TOKENS,
  )
  same_as_colocated(four, run, *load)


@drawn(10)
@given(loads(), plans(), st.sampled_from(["PD", "DP"]),
       st.sampled_from([8, 20]))
def test_nor_on_a_change_of_degree(degrees, load, plan, order, chunk_size):
  """Worker 0 has two devices, worker 1 one; either prefills."""
  run = run_of("1P1D", "disaggregated", chunk_size=chunk_size, plan=plan)
  pools = tuple(
      Pool(role=role, count=1, tp=tp)
      for role, tp in zip(order, (2, 1), strict=True)
  )
  run = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, pools=pools)
  )
  same_as_colocated(degrees, run, *load)


def test_pieces_land_while_the_prompt_is_computed(four):
  """Of 66 tokens in chunks of 16 four pieces move; all but the last early."""
  load = Workload((Request(
      id=0, arrival_ps=0, prompt_tokens=66, max_tokens=4
  ),), (4,), {})
  said = [np.arange(66, dtype=np.int32)]
  run = run_of(
      "1P1D", "disaggregated", chunk_size=16,
      plan=TransferPlan(granularity="chunk", verify=True),
  )
  log = same_as_colocated(four, run, load, said).log
  moved = [t.pages for t in log.of(events.Transfer)]
  assert moved == [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9)]
  kinds = [type(e).__name__ for e in log.of(events.Transfer, events.Step)][:6]
  assert kinds == ["Step", "Transfer"] * 3


def test_pages_as_int8():
  """A third of the bytes move; whoever needs exact tokens is told."""
  plan = dataclasses.replace(LAYERS, payload="int8")
  run = run_of("1P1D", "disaggregated", chunk_size=16, plan=plan)
  with small_engine(run) as backend:
    served = serve_on(backend, run)
    assert backend.compiles_in_window == 0
    agreement = verify_tokens(backend, workload(), len(PROMPT_TOKENS))
    assert "not exact" in " ".join(backend.conditions["notes"])
  pages = sum(last - first for first, last in (
      transfer.pages for transfer in served.log.of(events.Transfer)
  ))
  ended = served.log.of(events.TransferEnded)
  # 2 layers, keys and values, 2 heads, 8 cells: 16 bytes and a scale of 4.
  moved_bytes = pages * 2 * 2 * 2 * 8 * (16 + 4)
  assert sum(e.moved_bytes for e in ended) == moved_bytes
  assert not any(e.failure for e in ended)
  assert agreement.checked == sum(OUTPUT_TOKENS)
  assert agreement.different < 0.2 * agreement.checked


def test_layers_leave_their_step(four):
  """Each group goes by itself; the scheduler hears of one transfer."""
  load = Workload((Request(
      id=0, arrival_ps=0, prompt_tokens=66, max_tokens=4
  ),), (4,), {})
  said = [np.arange(66, dtype=np.int32)]
  run = run_of("1P1D", "disaggregated", plan=LAYERS)
  log = same_as_colocated(four, run, load, said).log
  (moved,), (ended,) = (
      log.of(events.Transfer), log.of(events.TransferEnded)
  )
  assert (moved.pages, moved.group_layers) == ((0, 9), 1)
  assert ended.moved_bytes == 9 * four.replicas[0].sent_page_bytes
  stages = [e.stage for e in log.of(events.TransferProgressed)]
  assert stages == ["gathered", "sent"]
  kinds = [type(e).__name__ for e in log.of(events.Transfer, events.StepEnded)]
  assert kinds[:2] == ["Transfer", "StepEnded"]
