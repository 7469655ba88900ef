"""Transfer schedules on real devices: however pages move, tokens stay.

One engine of four workers that can each do all a worker may have to, and one
of two of different degrees: roles are labels, so they serve every split.
"""

import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pdjax import events, passlimits
from pdjax.config import Pool, TransferPlan
from pdjax.engine import capacity
from pdjax.engine.verify import verify_tokens
from pdjax.models import transformer
from pdjax.models.presets import preset
from pdjax.request import Request
from pdjax.workload.workload import Workload
from tests.engine.engine_session import (
    MAX_TOKENS,
    PAGE_TOKENS,
    PROMPT_TOKENS,
    engine_of,
    run_of,
    serve_on,
)

SPLITS = ("1P1D", "1P3D", "3P1D", "2P2D")
PAGE_BYTES = {"as_is": 4096, "int8": 1280}
"""2 layers, keys and values, 2 heads, 8 cells: 16 floats, or 16 bytes and a
scale."""
LOGITS_OFF = 0.05
"""Of their standard deviation: so far off are logits of rounded pages at most
(`tests/test_rounded.py`)."""

LAYERS = TransferPlan(granularity="layers", layers=1, verify=True)
"""Engines made for it can move pages in all ways. The model has two layers."""


def any_role(split, **settings):
  """The config of an engine whose workers can do all."""
  return run_of(split, "elastic", chunk_size=32, plan=LAYERS, **settings)


def small_engine(run, **options):
  """With one size of staging arrays."""
  with pytest.MonkeyPatch.context() as patch:
    patch.setattr(passlimits, "STAGING_RUNGS", 1)
    return engine_of(run, max_programs=9, **options)


class Puts(list):
  """Shipments in each put; the next one begins `hold_s` later."""

  hold_s = 0.0

  def __call__(self, stagings, shardings):
    self.append(len(stagings))
    time.sleep(self.hold_s)
    self.hold_s = 0.0
    return jax.device_put(stagings, shardings)


@pytest.fixture(name="puts", scope="module")
def _puts():
  return Puts()


@pytest.fixture(name="four", scope="module")
def _four(puts):
  with small_engine(any_role("2P2D"), put=puts) as backend:
    yield backend


@pytest.fixture(name="degrees", scope="module")
def _degrees():
  run = any_role("1P1D", tp={"P": 2, "D": 1})
  with small_engine(run) as backend:
    yield backend


@pytest.fixture(name="rounding", scope="module")
def _rounding():
  """Four workers that send pages as int8, the first of degree 2."""
  plan = dataclasses.replace(LAYERS, payload="int8")
  run = run_of("2P2D", "elastic", chunk_size=32, plan=plan)
  with small_engine(with_roles(run, "PPDD")) as backend:
    yield backend


def with_roles(run, roles):
  """A worker a role; the first has two devices, the others one."""
  pools = tuple(
      Pool(role=role, count=1, tp=2 if not index else 1)
      for index, role in enumerate(roles)
  )
  cluster = dataclasses.replace(run.cluster, pools=pools)
  return dataclasses.replace(run, cluster=cluster)


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
def plans(draw, payload="as_is"):
  """Any schedule; a budget of a few pages, or none."""
  pages = draw(st.sampled_from([None, 1, 3]))
  granularity = draw(st.sampled_from(["request", "chunk", "layers"]))
  ahead = st.sampled_from(["prefill_start", "arrival"])
  late = st.just("prefill_end") if granularity == "request" else st.nothing()
  return TransferPlan(
      granularity=granularity, reserve_at=draw(late | ahead), verify=True,
      layers=1 if granularity == "layers" else None, payload=payload,
      staging_bytes=pages and pages * PAGE_BYTES[payload],
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
  same_as_colocated(degrees, with_roles(run, order), *load)


@drawn(12)
@given(
    loads(), plans("int8"), st.sampled_from([8, 20, 32]),
    st.sampled_from(
        ["PD", "DP", "PDDD", "DDDP", "DPPP", "PPPD", "PPDD", "DDPP"]
    ),
)
def test_pages_as_int8(rounding, load, plan, chunk_size, roles):
  """A third of the bytes move; whoever needs exact tokens is told, and logits
  stay within a bound, from 2 devices to 1, from 1 to 2 and among equals."""
  load, said = load
  run = run_of("1P1D", "disaggregated", chunk_size=chunk_size, plan=plan)
  served = serve_on(rounding, with_roles(run, roles), load, said=said)
  assert rounding.compiles_in_window == 0
  assert "not exact" in " ".join(rounding.conditions["notes"])
  pages = sum(last - first for first, last in (
      transfer.pages for transfer in served.log.of(events.Transfer)
  ))
  ended = served.log.of(events.TransferEnded)
  moved_bytes = pages * PAGE_BYTES["int8"]
  assert sum(e.moved_bytes for e in ended) == moved_bytes
  assert not any(e.failure for e in ended)
  for request in load.requests:
    check_logits(rounding, request)


def check_logits(backend, request):
  """The two best of each token of an answer, against a plain forward pass.

  The first token is made before anything is rounded.
  """
  token_T = np.zeros(128, np.int32)
  sequence = backend.sequence(request.id)
  token_T[: len(sequence)] = sequence
  with jax.default_matmul_precision("highest"):
    logits_TV = transformer.plain_forward(backend.model, jnp.array(token_T))
  logits_JV = np.asarray(logits_TV)[request.prompt_tokens - 1 :]
  answer = sequence[request.prompt_tokens :]
  for j, (token, gap) in enumerate(
      zip(answer, backend.gaps[request.id], strict=True)
  ):
    exact_V = logits_JV[j]
    off = 2 * LOGITS_OFF * exact_V.std() if j else 1e-3
    second = np.delete(exact_V, token).max()
    assert abs(exact_V[token] - second - gap) < off, (j, gap, off)


def test_what_a_page_weighs_is_known_beforehand(four, degrees, rounding):
  for backend in (four, degrees, rounding):
    found = [replica.sent_page_bytes for replica in backend.replicas]
    assert capacity.sent_page_bytes(backend.run, preset("tiny")) == found
    payload = backend.run.strategy.transfer.payload
    assert set(found) == {PAGE_BYTES[payload]}


def test_small_hand_offs_go_in_one_put(four, puts):
  """While the first of six moves the others are gathered, then they move
  together; pages, tokens and events are as ever."""
  load = Workload(tuple(
      Request(id=id, arrival_ps=0, prompt_tokens=5 + id, max_tokens=6)
      for id in range(6)
  ), (6,) * 6, {})
  said = [np.arange(5 + id, dtype=np.int32) for id in range(6)]
  run = run_of("1P1D", "disaggregated", plan=TransferPlan(verify=True))
  puts.clear()
  puts.hold_s = 0.5
  log = same_as_colocated(four, run, load, said).log
  assert len(log.of(events.Transfer)) == 6 == sum(puts)
  assert max(puts) > 1
  ended = log.of(events.TransferEnded)
  assert sum(e.moved_bytes for e in ended) == 8 * PAGE_BYTES["as_is"]


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
