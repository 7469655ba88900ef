"""Conversations keep the laws, and pages of one hold what their name says."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.events import (
  Abort,
  Arrived,
  Fail,
  Reserve,
  StepEnded,
  TransferEnded,
)
from pdjax.request import State
from pdjax.schedule.replay import replay
from pdjax.simulate.stepcosts import policy_for
from pdjax.window import Window
from pdjax.workload.clients import Pauses, continues
from tests.laws.cluster import (
  Load,
  beset,
  configs,
  faults,
  load_of,
  loads,
  run_config,
  serve_load,
  world_for,
)
from tests.laws.test_clairvoyance import until
from tests.laws.test_conservation import check_pools


def conversing(load: Load, turns: list[int], think_ps: list[int]) -> Load:
  """A load whose requests continue each other, `turns` of them at a time."""
  requests, prompt_tokens, left = [], 0, 0
  sizes, session, first_ps = iter(turns), -1, 0
  for request, answer in zip(load.requests, load.output_tokens, strict=True):
    if not left:
      left, session = next(sizes), session + 1
      prompt_tokens, first_ps = 0, request.arrival_ps
    left -= 1
    prompt_tokens += request.prompt_tokens
    turn = dataclasses.replace(
        request, prompt_tokens=prompt_tokens, session=session, prefix_ids=(),
        prefix_block_tokens=0,
    ).arriving_at(first_ps)
    requests.append(turn)
    prompt_tokens += answer
  return dataclasses.replace(
      load, requests=tuple(requests), behaviour=Pauses(think_ps=tuple(think_ps))
  )


@st.composite
def conversations(draw) -> Load:
  load = draw(loads(max_size=16))
  count = len(load.requests)
  size = st.integers(1, 5)
  pause_ps = st.sampled_from([0, 0, 1, 20_000_000_000])
  return conversing(
      load, draw(st.lists(size, min_size=count, max_size=count)),
      draw(st.lists(pause_ps, min_size=count, max_size=count)),
  )


class Contents:
  """What every page holds, by the tokens that a client sees.

  A token is its place in a prompt, or in an answer: `answer` of a turn that was
  finished before its client gave up, else a `stand-in` in the next prompt.
  """

  def __init__(self, load: Load):
    self._load = load
    self._said: dict[int, tuple] = {}
    self._given_up: set[int] = set()
    self._pages: dict[tuple[int, int], tuple] = {}
    self._ever: set[tuple[int, tuple]] = set()
    """What each worker has held, which its host memory may have."""
    self.checked = self.hosted = 0

  def __call__(self, event, world):
    if isinstance(event, Arrived):
      self._arrive(event.request, world)
    for progress in world.progress.values():
      if progress.fate in (State.ABORTED, State.FAILED):
        self._given_up.add(progress.id)
      for index, pages in progress.pages.items():
        self._look(progress, index, pages, world)
    check_pools(event, world)

  def _arrive(self, request, world):
    said: tuple = ()
    last = self._load.requests[request.id - 1] if request.id else request
    if request.id and continues(last, request):
      whole = (
          world.progress[last.id].state is State.FINISHED
          and last.id not in self._given_up
      )
      kind = "answer" if whole else "stand-in"
      answer = self._load.output_tokens[last.id]
      said = self._said[last.id] + tuple(
          (kind, last.id, i) for i in range(answer)
      )
    own = request.prompt_tokens - len(said)
    self._said[request.id] = said + tuple(
        ("asked", request.id, i) for i in range(own)
    )

  def _look(self, progress, index, pages, world):
    """Notes what pages hold once they are full; found ones held it before."""
    C = world.workers[index].spec.page_tokens
    found = progress.reused_pages.get(index, 0)
    answer = tuple(("answer", progress.id, i) for i in range(len(pages) * C))
    said = self._said[progress.id] + answer
    for place, page in enumerate(pages):
      holds = said[: (place + 1) * C]
      if place >= found:
        self._pages[index, page] = holds
        self._ever.add((index, holds))
      elif self._pages.get((index, page)) == holds:
        self.checked += 1
      else:
        assert world.workers[index].spec.host_pages
        assert (index, holds) in self._ever
        self._pages[index, page] = holds
        self.hosted += 1


def with_host(run, host_kv_tokens):
  return dataclasses.replace(run, cluster=dataclasses.replace(
      run.cluster, host_kv_tokens=host_kv_tokens
  ))


@settings(max_examples=60, deadline=None)
@given(
    configs(), conversations(), st.none() | st.integers(1, 10**12),
    st.sampled_from([None, 40, 1000]),
)
def test_conversations_conserve_and_replay(run, load, end_ps, host_kv_tokens):
  run = with_host(run, host_kv_tokens)
  window = Window(end_ps // 4, end_ps) if end_ps else None
  load = dataclasses.replace(load, window=window)
  log, world = serve_load(run, load, watch=Contents(load))
  assert all(progress.ended for progress in world.progress.values())
  if not window:
    assert len(world.progress) == len(load.requests)
  for worker in world.workers:
    assert worker.pool.free_pages == worker.spec.pool_pages
  again = replay(log, policy_for(run), world_for(run))
  assert again.identical == again.commands and not again.difference


@settings(max_examples=40, deadline=None)
@given(
    configs(), conversations(), faults(), st.sampled_from([None, 1000])
)
def test_faults_put_nothing_into_a_conversation(
    run, load, hits, host_kv_tokens
):
  """What is found holds what was said, whoever was lost in between."""
  run = beset(with_host(run, host_kv_tokens), hits)
  log, world = serve_load(run, load, watch=Contents(load))
  assert all(progress.ended for progress in world.progress.values())
  again = replay(log, policy_for(run), world_for(run))
  assert again.identical == again.commands and not again.difference


def chat(think_ps: int = 10**9, turns: int = 3, **changes) -> Load:
  """Conversations of a few turns, of 40 tokens asked and 20 answered each."""
  rows = [(i * 3000, 40, 20) for i in range(2 * turns)]
  load = conversing(
      load_of(*rows), [turns] * 2, [think_ps] * len(rows)
  )
  return dataclasses.replace(load, **changes)


KINDS = ("chunked", "vllm_v1", "disaggregated", "pages of chunks",
         "conditional", "elastic")


@pytest.mark.parametrize("kind", KINDS)
def test_pages_that_are_found_hold_what_was_said(kind):
  """Also after a turn that its client gave up, at any state of it."""
  run = run_config(kind, prefix_cache=True, kv_tokens=4000)
  found = 0
  for after_us in (None, 1, 500, 20_000, 100_000, 150_000, 190_000):
    cancels = {1: after_us * 10**6} if after_us else {}
    load = chat(cancel_after_ps=cancels, think_ps=0)
    contents = Contents(load)
    serve_load(run, load, watch=contents)
    found += contents.checked
  assert found > 100


@pytest.mark.parametrize("kind", KINDS)
def test_pages_from_host_memory_hold_what_was_said(kind):
  run = with_host(run_config(kind, prefix_cache=True, kv_tokens=208), 2000)
  hosted = 0
  for after_us in (None, 20_000, 100_000):
    cancels = {1: after_us * 10**6} if after_us else {}
    load = chat(cancel_after_ps=cancels)
    contents = Contents(load)
    serve_load(run, load, watch=contents)
    hosted += contents.hosted
  assert hosted > 0


def test_a_turn_comes_after_the_last_has_ended():
  load = chat(cancel_after_ps={1: 1})
  log, _ = serve_load(run_config("chunked"), load)
  came, ended = {}, {}
  for at_ps, entry in log:
    match entry:
      case Arrived():
        came[entry.request.id] = entry.request.arrival_ps
      case StepEnded():
        for request, _ in entry.finished:
          ended.setdefault(request, at_ps)
      case Abort() | Fail():
        ended[entry.request] = at_ps
  assert len(came) == 6
  assert all(
      came[id] == ended[id - 1] + 10**9 for id in (1, 2, 4, 5)
  )


@settings(max_examples=25, deadline=None)
@given(configs(), conversations())
def test_nobody_knows_that_a_conversation_goes_on(run, load):
  """Law 10: where nobody ever asks again, the past was the same."""
  first = {
      r.id for r in load.requests
      if not r.id or not continues(load.requests[r.id - 1], r)
  }
  log, _ = serve_load(run, load)
  at_ps = min(
      [e.at_ps for e in log.of(Arrived) if e.request.id not in first],
      default=log.end_ps + 1,
  )
  silent = dataclasses.replace(load, behaviour=None, requests=tuple(
      r for r in load.requests if r.id in first
  ))
  other, _ = serve_load(run, silent)
  assert until(log, at_ps) == until(other, at_ps)


def test_a_cache_that_remembers_moves_less():
  sent_bytes = {}
  for cache in (False, True):
    run = run_config("disaggregated", prefix_cache=cache, kv_tokens=4000)
    log, world = serve_load(run, chat())
    sent_bytes[cache] = sum(e.moved_bytes for e in log.of(TransferEnded))
    assert any(r.spared_tokens for r in log.of(Reserve)) == cache
    assert all(p.state is State.FINISHED for p in world.progress.values())
  assert sent_bytes[True] < 0.6 * sent_bytes[False]
