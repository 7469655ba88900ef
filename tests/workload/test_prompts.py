"""Prompts: exact counts, distinct requests, equal blocks, real English."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import config
from pdjax.request import Request
from pdjax.workload import prompts
from pdjax.workload.build import build
from pdjax.workload.workload import Workload


@functools.cache
def _bytes(text):
  return list(text.encode())


def _workload(*shapes):
  """Requests of (prompt tokens, block ids), blocks of 8 tokens."""
  requests = tuple(
      Request(
          id=id,
          arrival_ps=0,
          prompt_tokens=prompt_tokens,
          max_tokens=1,
          prefix_ids=ids,
          prefix_block_tokens=8,
      )
      for id, (prompt_tokens, ids) in enumerate(shapes)
  )
  return Workload(requests, (1,) * len(requests), {})


ENCODERS = pytest.mark.parametrize("encode", [None, _bytes])


@ENCODERS
@settings(deadline=None, max_examples=8)
@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=20),
    st.integers(0, 2**32),
)
def test_counts_are_exact_and_a_seed_fixes_all(encode, lengths, seed):
  workload = _workload(*((length, ()) for length in lengths))
  ids = prompts.token_ids(workload, encode, 256, seed)
  assert [len(prompt) for prompt in ids] == lengths
  assert all(prompt.dtype == np.int32 for prompt in ids)
  assert all(0 <= prompt.min() <= prompt.max() < 256 for prompt in ids)
  again = prompts.token_ids(workload, encode, 256, seed)
  for one, other in zip(ids, again, strict=True):
    assert (one == other).all()


@ENCODERS
def test_no_two_requests_open_alike(encode):
  workload = _workload(*(((200, ()),) * 3000))
  ids = prompts.token_ids(workload, encode, 256, seed=0)
  openings = {
      prompt[: prompts.OPENING_TOKENS].tobytes() for prompt in ids
  }
  assert len(openings) == 3000


@ENCODERS
def test_another_seed_gives_other_prompts(encode):
  workload = _workload((100, ()))
  one, other = (
      prompts.token_ids(workload, encode, 256, seed)[0] for seed in (0, 1)
  )
  assert (one != other).any()


@ENCODERS
def test_a_named_block_is_the_same_in_every_request(encode):
  first, second, third, fourth = prompts.token_ids(
      _workload((20, (0, 1, 2)), (30, (0, 1)), (22, (0, 1, 2)), (16, (3, 4))),
      encode,
      256,
      seed=0,
  )
  assert (first[:16] == second[:16]).all()
  assert (first == third[:20]).all()  # block 2 is partial in both: 4 and 6
  assert (second[16:22] != third[16:22]).any()  # own tokens against block 2
  assert (first[:8] != fourth[:8]).any()
  assert [len(p) for p in (first, second, third, fourth)] == [20, 30, 22, 16]


def test_english_prompts_are_pieces_of_the_text():
  text = prompts.english_text()
  workload = _workload(*(((300, ()),) * 10), (8, (0,)), (8, (1,)))
  doubled = text.encode() * 2
  for prompt in prompts.token_ids(workload, _bytes, 256, seed=3):
    assert prompt.astype(np.uint8).tobytes() in doubled


def test_the_text_is_english_and_long():
  text = prompts.english_text()
  words = text.lower().split()
  assert len(text) > 200_000
  # In running English about one word in sixteen is "the".
  assert 0.04 < words.count("the") / len(words) < 0.12
  paragraphs = text.split("\n\n")
  assert len(set(paragraphs)) == len(paragraphs)


def test_prompts_longer_than_the_text():
  prompt, = prompts.token_ids(
      _workload((5000, ())), lambda _: list(range(100)), 100, seed=0
  )
  assert (np.diff(prompt) % 100 == 1).all()


@pytest.mark.parametrize("encode", [lambda _: [], lambda _: [7, -1]])
def test_an_encoder_must_give_ids(encode):
  with pytest.raises(ValueError):
    prompts.token_ids(_workload((5, ())), encode, 256, seed=0)


def test_ids_must_fit_the_vocabulary():
  with pytest.raises(ValueError, match="vocab_size=100"):
    prompts.token_ids(_workload((5, ())), _bytes, 100, seed=0)


def test_the_mooncake_sample_has_equal_tokens_where_ids_are_equal():
  workload = build(config.Workload(kind="mooncake", length_scale=1 / 32))
  ids = prompts.token_ids(workload, _bytes, 256, seed=0)
  blocks = {}
  for request, prompt in zip(workload.requests, ids, strict=True):
    for place, id in enumerate(request.prefix_ids):
      block = prompt[16 * place : 16 * (place + 1)]
      known = blocks.setdefault(id, block)
      shared = min(len(known), len(block))
      assert (known[:shared] == block[:shared]).all()
  full = {b.tobytes() for b in blocks.values() if len(b) == 16}
  assert len(full) == sum(len(b) == 16 for b in blocks.values())
