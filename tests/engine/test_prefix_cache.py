"""Pages stay for the next request: less is computed, tokens are the same."""

import dataclasses

from pdjax.events import Reserve, Transfer
from tests.engine.engine_session import (
  engine_of,
  prompts,
  run_of,
  serve_on,
  workload,
)

BLOCK_TOKENS = 16


def shared_load():
  """The usual requests; the long ones begin like every second other."""
  load = workload(gap_ps=10**11)  # each finds what the one before left
  named = tuple(
      dataclasses.replace(
          request, prefix_ids=(request.id % 2,),
          prefix_block_tokens=BLOCK_TOKENS,
      )
      for request in load.requests
  )
  return dataclasses.replace(load, requests=named)


def shared_prompts():
  said = prompts()
  blocks = said[3][:BLOCK_TOKENS].copy(), said[1][:BLOCK_TOKENS].copy()
  for id, prompt in enumerate(said):
    if len(prompt) >= BLOCK_TOKENS:
      prompt[:BLOCK_TOKENS] = blocks[id % 2]
  return said


def test_reused_pages_keep_tokens():
  run = run_of("1P1D", "disaggregated")
  cached = dataclasses.replace(
      run, strategy=dataclasses.replace(run.strategy, prefix_cache=True)
  )
  with engine_of(run) as engine:
    plain, reused = (
        serve_on(engine, each, shared_load(), said=shared_prompts())
        for each in (run, cached)
    )
  assert reused.same_tokens(plain)
  found = [r.cached_tokens for r in reused.log.of(Reserve)]
  assert sum(found) >= 2 * BLOCK_TOKENS
  assert not any(r.cached_tokens for r in plain.log.of(Reserve))
  assert any(t.pages[0] for t in reused.log.of(Transfer))
