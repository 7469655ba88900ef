"""Conversations on the engine: less is moved, the tokens are the same."""

import dataclasses

import numpy as np
import pytest

from pdjax.events import Arrived, Reserve, TransferEnded
from pdjax.request import Request, State
from pdjax.workload.clients import Pauses
from pdjax.workload.workload import Workload
from tests.engine.engine_session import (
  check_tokens,
  engine_of,
  run_of,
  serve_on,
)

ASKED = ((18, 5, 9, 3), (25, 2, 8, 4))
"""Tokens that each turn of two conversations adds."""
ANSWERS = ((9, 14, 6, 3), (3, 9, 12, 1))
THINK_PS = 5 * 10**9


def chat(cancel_after_ps=None) -> Workload:
  requests, outputs = [], []
  for session, turns in enumerate(zip(ASKED, ANSWERS, strict=True)):
    prompt_tokens = 0
    for asked, answer in zip(*turns, strict=True):
      prompt_tokens += asked
      requests.append(Request(
          id=len(requests), arrival_ps=session * 10**9, session=session,
          prompt_tokens=prompt_tokens, max_tokens=answer,
      ))
      prompt_tokens += answer
      outputs.append(answer)
  return Workload(
      tuple(requests), tuple(outputs), {},
      behaviour=Pauses(think_ps=(THINK_PS,) * len(requests)),
      cancel_after_ps=cancel_after_ps or {},
  )


def said() -> list[np.ndarray]:
  """Prompts as they are before anything has been answered."""
  rng = np.random.default_rng(1)
  prompts = []
  for request in chat().requests:
    own = rng.integers(256, size=request.prompt_tokens, dtype=np.int32)
    if request.id % 4:
      before = prompts[-1]
      own[: len(before)] = before
    prompts.append(own)
  return prompts


def cached(run):
  strategy = dataclasses.replace(run.strategy, prefix_cache=True)
  return dataclasses.replace(run, strategy=strategy)


def sent_bytes(served):
  return sum(ended.moved_bytes for ended in served.log.of(TransferEnded))


def heard(engine, served):
  """Prompts of the turns that came, as the engine completed them."""
  came = {e.request.id: e.request for e in served.log.of(Arrived)}
  return {
      id: engine.sequence(id)[: request.prompt_tokens]
      for id, request in came.items()
  }


def check_prompts(engine, served, prompts):
  """Each begins with the prompt and the answer before it."""
  for id, prompt in prompts.items():
    if id % 4:
      before = np.concatenate([
          prompts[id - 1], np.array(served.tokens[id - 1], np.int32)
      ])
      np.testing.assert_array_equal(prompt[: len(before)], before)


@pytest.fixture(scope="module")
def apart():
  with engine_of(run_of("1P1D", "disaggregated")) as engine:
    yield engine


def test_a_cache_cuts_what_is_moved_and_keeps_the_tokens(apart):
  run = run_of("1P1D", "disaggregated")
  served, prompts = {}, {}
  for name, each in (("off", run), ("on", cached(run))):
    served[name] = serve_on(apart, each, chat(), said=said())
    prompts[name] = heard(apart, served[name])
    check_tokens(apart, chat())
    check_prompts(apart, served[name], prompts[name])
  assert served["on"].same_tokens(served["off"])
  assert len(prompts["on"]) == 8
  spared = [r.spared_tokens for r in served["on"].log.of(Reserve)]
  assert sum(spared) >= 8 * 6  # pages of answers too, which only D has
  assert sent_bytes(served["on"]) < 0.6 * sent_bytes(served["off"])
  found = [
      r.cached_tokens for r in served["on"].log.of(Reserve)
      if r.request != 7  # one token, made on P: it is not handed off
  ]
  assert 0 < sum(found) < sum(spared)


HOSTING = cached(run_of("1C", "chunked", chunk_size=32))
HOSTING = dataclasses.replace(HOSTING, cluster=dataclasses.replace(
    HOSTING.cluster, host_kv_tokens=400
))


@pytest.fixture(scope="module")
def alone():
  with engine_of(HOSTING, max_programs=10) as engine:
    yield engine


def test_colocated_turns_say_the_same(apart, alone):
  there = serve_on(apart, run_of("1P1D", "disaggregated"), chat(), said=said())
  here = serve_on(alone, HOSTING, chat(), said=said())
  check_tokens(alone, chat())
  check_prompts(alone, here, heard(alone, here))
  assert here.same_tokens(there)
  assert any(r.cached_tokens for r in here.log.of(Reserve))
  assert not any(r.host_tokens for r in here.log.of(Reserve))  # room for all


@pytest.mark.parametrize("host_kv_tokens", [400, 24])
def test_pages_come_back_from_host_memory(alone, host_kv_tokens):
  """A pool for one conversation at a time."""
  whole = serve_on(alone, HOSTING, chat(), said=said())
  tight = dataclasses.replace(HOSTING, cluster=dataclasses.replace(
      HOSTING.cluster, kv_tokens=12 * 8, host_kv_tokens=host_kv_tokens
  ))
  served = serve_on(alone, tight, chat(), said=said())
  check_tokens(alone, chat())
  assert served.same_tokens(whole)
  back = sum(r.host_tokens for r in served.log.of(Reserve))
  assert back >= 8 or host_kv_tokens == 24


def test_an_answer_given_up_is_not_in_the_next_prompt(apart):
  run = cached(run_of("1P1D", "disaggregated"))
  load = chat(cancel_after_ps={1: 1})  # as soon as it has come
  served = serve_on(apart, run, load, said=said())
  assert served.world.progress[1].state is State.ABORTED
  prompts = heard(apart, served)
  np.testing.assert_array_equal(prompts[2][: 18 + 9 + 5], prompts[1])
  np.testing.assert_array_equal(prompts[2][32:], said()[2][32:])
  assert apart.tokens[2] and apart.tokens[3]
  check_tokens(apart, load)
