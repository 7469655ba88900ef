"""Law 10: what has not happened yet cannot change a decision."""

import dataclasses

from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.request import Request
from pdjax.window import Window
from tests.laws.cluster import Load, configs, loads, serve_load, token_times


def until(log, at_ps):
  return [entry for time_ps, entry in log if time_ps < at_ps]


@settings(max_examples=60, deadline=None)
@given(
    configs(), loads(), st.integers(0, 10**12), st.integers(1, 90),
    st.none() | st.integers(1, 10**12),
)
def test_equal_pasts_give_equal_commands(run, load, at_ps, tail, end_ps):
  """The future differs: arrivals, longer answers, clients that stay or go.

  Also where a window is measured, which clients know of and policies do not.
  """
  window = Window(end_ps // 4, end_ps) if end_ps else None
  load = dataclasses.replace(load, window=window)
  log, _ = serve_load(run, load)
  made = {
      request: sum(time < at_ps for time in times)
      for request, times in token_times(log).items()
  }
  requests, outputs = [], []
  for request, truth in zip(load.requests, load.output_tokens, strict=True):
    if request.arrival_ps >= at_ps:
      continue
    running = made.get(request.id, 0) < truth
    longer = min(request.max_tokens, truth + 1) if running else truth
    requests.append(request)
    outputs.append(longer)
  newcomer = Request(
      id=len(load.requests), arrival_ps=at_ps, prompt_tokens=tail, max_tokens=3
  )
  gone = {
      id: after_ps for id, after_ps in load.cancel_after_ps.items()
      if load.requests[id].arrival_ps + after_ps < at_ps
  }
  goes = {r.id: at_ps - r.arrival_ps + 5 for r in requests}
  other = Load(
      (*requests, newcomer), _by_id(requests, outputs, newcomer), window=window,
      cancel_after_ps=goes | gone,
  )
  log_b, _ = serve_load(run, other)
  assert until(log, at_ps) == until(log_b, at_ps)


def _by_id(requests, outputs, newcomer):
  truths = {r.id: n for r, n in zip(requests, outputs, strict=True)}
  truths[newcomer.id] = 2
  return [truths.get(index, 1) for index in range(newcomer.id + 1)]


def test_the_world_cannot_see_true_lengths():
  names = {field.name for field in dataclasses.fields(Request)}
  assert not names & {"output_tokens", "cancel_after_ps"}
