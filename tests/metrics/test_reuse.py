"""What caches find in conversations, counted by hand."""

import dataclasses

import pytest

from pdjax.metrics.requests import table_of
from pdjax.metrics.summary import summarize
from pdjax.workload.clients import Pauses
from tests.laws.cluster import Load, load_of, run_config, serve_load


def two_turns(cancelled: bool = False) -> Load:
  """64 asked and 9 answered, then 16 asked and 5 answered; pages of 8."""
  load = load_of((0, 64, 9), (0, 64 + 9 + 16, 5), (0, 30, 3))
  turns = tuple(
      dataclasses.replace(request, session=request.id // 2)
      for request in load.requests
  )
  return dataclasses.replace(
      load, requests=(*turns[:2], load.requests[2]),
      behaviour=Pauses(think_ps=(10**9,) * 3),
      cancel_after_ps={0: 1} if cancelled else {},
  )


def summary_of(kind: str, cache: bool, load: Load, **settings):
  run = run_config(kind, prefix_cache=cache, kv_tokens=2000, **settings)
  log, _ = serve_load(run, load)
  table = table_of(log, run)
  return table, summarize(table, run)


def test_without_a_cache_all_that_was_said_is_repeated():
  table, summary = summary_of("disaggregated", False, two_turns())
  assert table["repeated_tokens"].tolist() == [0, 64 + 8, 0]
  assert summary["repeated_tokens"] == 72
  assert (summary["spared_bytes"], summary["reused_tokens"]) == (0, 0)


def test_the_decode_worker_has_the_answer_too():
  """P has the 8 pages of the first prompt, D also that of 8 answer tokens."""
  table, summary = summary_of("disaggregated", True, two_turns())
  _, off = summary_of("disaggregated", False, two_turns())
  assert table["reused_tokens"].tolist() == [0, 64, 0]
  assert table["spared_tokens"].tolist() == [0, 72, 0]
  assert table["repeated_tokens"].tolist() == [0, 8, 0]
  assert table["turn"].tolist() == [1, 2, None]
  assert table["session"].tolist() == [0, 0, None]
  asked = 64 + 89 + 30
  assert summary["conversations"] == 1
  assert summary["prefix_hit_rate"] == 64 / asked
  assert summary["handoff_prefix_hit_rate"] == 72 / asked
  moved, spared = summary["transferred_bytes"], summary["spared_bytes"]
  assert moved + spared == off["transferred_bytes"]
  assert summary["prefill_tokens"] == off["prefill_tokens"] - 64


@pytest.mark.parametrize("kind", ["pages of chunks", "chunked prefill on P"])
def test_pieces_of_a_prompt_are_one_hand_off(kind):
  table, _ = summary_of(kind, True, two_turns())
  assert table["spared_tokens"].tolist() == [0, 72, 0]


def test_colocated_there_is_one_cache():
  table, summary = summary_of("chunked", True, two_turns())
  assert table["reused_tokens"].tolist() == [0, 72, 0]
  assert table["repeated_tokens"].tolist() == [0, 0, 0]
  assert summary["handoff_prefix_hit_rate"] is None
  assert summary["spared_tokens"] == 0


def test_an_answer_given_up_is_not_repeated():
  table, _ = summary_of("disaggregated", False, two_turns(cancelled=True))
  assert table["state"].tolist() == ["aborted", "finished", "finished"]
  assert table["repeated_tokens"].tolist() == [0, 64, 0]
