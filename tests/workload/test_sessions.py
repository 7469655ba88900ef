"""Conversations: how many, how long, and that turns continue each other."""

import dataclasses

import numpy as np
import pytest

from pdjax.config import ConfigError, Lengths, Workload
from pdjax.workload import prompts, statistics
from pdjax.workload.build import build
from pdjax.workload.clients import continues

DRAWN = Lengths(kind="lognormal", mean=3, cv=0.8)
CHAT = Workload(
    num_requests=200, rate=4.0, turns=DRAWN, think_time_s=2.0,
    prompt=Lengths(kind="lognormal", mean=50, high=300),
    output=Lengths(kind="lognormal", mean=30, high=100),
)


def changed(**fields):
  return build(dataclasses.replace(CHAT, **fields))


def pairs(built):
  """Each turn with the one before it."""
  return [
      (last, request)
      for last, request in zip(
          built.requests, built.requests[1:], strict=False
      )
      if continues(last, request)
  ]


def test_a_prompt_has_all_that_was_said_before():
  built = build(CHAT)
  alone = changed(turns=None)
  added = [r.prompt_tokens for r in alone.requests]
  assert len(built.requests) == 200 and len(pairs(built)) > 80
  assert built.output_tokens == alone.output_tokens
  for last, request in pairs(built):
    said = last.prompt_tokens + built.output_tokens[last.id]
    assert request.prompt_tokens == said + added[request.id]


def test_turns_have_their_law_and_one_beginning():
  built = changed(turns=Lengths(mean=4))
  sessions = [r.session for r in built.requests]
  assert sessions == [id // 4 for id in range(200)]
  for last, request in pairs(built):
    assert last.arrival_ps == request.arrival_ps  # a stand-in until it comes


def test_the_rate_counts_requests():
  one, four = changed(turns=None), changed(turns=Lengths(mean=4))
  begins = sorted({r.arrival_ps for r in four.requests})
  assert begins[-1] / 49 == pytest.approx(
      4 * one.requests[49].arrival_ps / 49, rel=1e-9
  )


def test_a_window_says_how_many_conversations_begin():
  built = changed(protocol="steady", num_requests=None, duration_s=20.0)
  again = changed(protocol="steady", num_requests=None, duration_s=40.0)
  assert built.window is not None
  assert len(again.requests) > 1.5 * len(built.requests) > 100
  alike = again.requests[: len(built.requests)]
  assert [dataclasses.astuple(r)[:3] for r in alike] == [
      dataclasses.astuple(r)[:3] for r in built.requests
  ]


def test_a_conversation_ends_before_a_prompt_would_be_too_long():
  built, long = changed(max_prompt_tokens=150), build(CHAT)
  assert max(r.prompt_tokens for r in built.requests) <= 150
  cut = built.conditions["cuts"]["max_prompt_tokens"]
  assert cut["turns_left_out"] == len(long.requests) - len(built.requests) > 0
  kept = {(r.session, r.prompt_tokens) for r in built.requests}
  whole = {
      (r.session, r.prompt_tokens) for r in long.requests
      if r.prompt_tokens <= 150
  }
  assert whole <= kept  # beside those, first prompts that were cut


def test_what_is_cut_of_an_answer_is_not_in_the_next_prompt():
  built = changed(max_tokens=20, turns=Lengths(mean=2))
  assert max(built.output_tokens) == 20
  for last, request in pairs(built):
    added = request.prompt_tokens - last.prompt_tokens - 20
    assert added >= 1 or built.output_tokens[last.id] < 20


def test_an_answer_of_unknown_length_is_refused():
  with pytest.raises(ConfigError) as caught:
    changed(stop="eos")
  (line,) = caught.value.errors
  assert line.startswith("workload.stop='eos': ") and "turns" in line


@pytest.mark.parametrize("turns", [Lengths(mean=0), Lengths(mean=2.5)])
def test_a_wrong_law_is_one_line(turns):
  with pytest.raises(ConfigError) as caught:
    changed(turns=turns)
  (line,) = caught.value.errors
  assert line.startswith("workload.turns.mean=")


def test_prompts_begin_with_the_prompt_before():
  built = changed(num_requests=20)
  said = prompts.token_ids(built, None, 1000, seed=3)
  for last, request in pairs(built):
    before = said[last.id]
    assert len(said[request.id]) == request.prompt_tokens
    np.testing.assert_array_equal(said[request.id][: len(before)], before)
  firsts = [said[r.id][:5].tolist() for r in built.requests
            if r.id == 0 or not continues(built.requests[r.id - 1], r)]
  assert len(set(map(tuple, firsts))) == len(firsts)


def test_what_a_cache_without_limits_would_hold():
  """Two turns: 30 asked, 20 answered, 50 added; 49 of 130 are known."""
  built = build(Workload(
      num_requests=2, rate=1.0, turns=Lengths(mean=2),
      prompt=Lengths(mean=30), output=Lengths(mean=20),
  ))
  share = statistics.describe(built)["prefix_reuse_share"]
  assert [r.prompt_tokens for r in built.requests] == [30, 80]
  assert share == 49 / 110


def test_conditions_say_what_a_conversation_is():
  told = build(CHAT).conditions["turns"]
  assert told["conversations"] * told["mean"] == pytest.approx(200)
  assert told["think_time_s"] == 2.0 and "other tokens" in told["rule"]
  assert changed(turns=None).conditions["turns"] is None
  hashes = {
      build(w).conditions["content_sha256"] for w in (
          CHAT, dataclasses.replace(CHAT, think_time_s=3.0),
          dataclasses.replace(CHAT, turns=None),
      )
  }
  assert len(hashes) == 3
