"""What a prefix cache changes for admission, hand-offs, preemption and runs."""

from pdjax.events import Reserve, Step, Transfer, TransferEnded
from pdjax.metrics.requests import request_table
from pdjax.request import Request
from tests.laws.cluster import US, Load, run_config, serve_load


def load_with_prefixes(*rows):
  """From rows of (arrival in µs, prompt, output, ids of 16-token blocks)."""
  requests = tuple(
      Request(
          id=index, arrival_ps=arrival_us * US, prompt_tokens=prompt,
          max_tokens=output, prefix_ids=ids, prefix_block_tokens=16,
      )
      for index, (arrival_us, prompt, output, ids) in enumerate(rows)
  )
  return Load(requests, tuple(output for _, _, output, _ in rows))


TWO_TURNS = load_with_prefixes(
    (0, 64, 5, (1, 2, 3, 4)), (10**6, 80, 5, (1, 2, 3, 4, 5))
)


def served(kind, load=TWO_TURNS, **settings):
  run = run_config(kind, prefix_cache=True, **settings)
  log, world = serve_load(run, load)
  return log, request_table(log), world


def test_a_later_prompt_computes_its_suffix_only():
  log, table, _ = served("chunked")
  assert [r.cached_tokens for r in log.of(Reserve)] == [0, 64]
  assert table["reused_tokens"].tolist() == [0, 64]
  chunks = [tokens for s in log.of(Step) for r, tokens in s.prefill if r == 1]
  assert sum(chunks) == 16
  assert table["ttft_ns"][1] < table["ttft_ns"][0]


def test_without_the_cache_nothing_is_reused():
  log, _ = serve_load(run_config("chunked"), TWO_TURNS)
  assert [r.cached_tokens for r in log.of(Reserve)] == [0, 0]


def test_the_last_token_of_a_prompt_is_always_computed():
  load = load_with_prefixes(
      (0, 64, 5, (1, 2, 3, 4)), (10**6, 64, 5, (1, 2, 3, 4))
  )
  log, table, _ = served("continuous", load)
  assert table["reused_tokens"].tolist() == [0, 56]  # all but a page of 8


def test_a_hand_off_moves_what_the_target_lacks():
  log, table, _ = served("disaggregated")
  first, second = log.of(Transfer)
  assert (first.pages, second.pages) == ((0, 8), (8, 10))
  sizes = [ended.moved_bytes for ended in log.of(TransferEnded)]
  assert sizes[1] * 4 == sizes[0]
  assert table["reused_tokens"].tolist() == [0, 64]


def test_prompts_share_pages_that_would_not_fit_twice():
  """Three prompts of 8 pages, 6 of them common, in a pool of 24."""
  load = load_with_prefixes(
      *((at_us, 64, 60, (1, 2, 3, 4 + at_us)) for at_us in (0, 40_000, 80_000))
  )
  settings = {"kv_tokens": 192, "reserve_pages": 0}
  _, shared, _ = served("chunked", load, **settings)
  log, _ = serve_load(run_config("chunked", **settings), load)
  last_ns = request_table(log)["ttft_ns"][2]
  assert shared["ttft_ns"][2] < last_ns / 10  # it need not wait for pages


def test_a_preempted_request_finds_its_own_pages_again():
  load = load_with_prefixes(
      *((i * 5000, 40, 10 + 25 * i, ()) for i in range(4))
  )
  settings = {"kv_tokens": 176, "reserve_pages": 0}
  _, kept, _ = served("vllm_v1", load, **settings)
  run = run_config("vllm_v1", prefix_cache=False, **settings)
  lost = request_table(serve_load(run, load)[0])
  assert kept["preemptions"].sum() > 0
  assert kept["recomputed_tokens"].sum() < lost["recomputed_tokens"].sum()


def test_a_reservation_evicts_no_more_than_single_steps_would():
  """A run holds the pages of steps to come; they go before findable ones."""
  _, _, world = served("chunked")
  (worker,) = world.workers
  assert worker.cached_prefix_tokens(TWO_TURNS.requests[1]) == 72
  pages = worker.cache.take(worker.cache.leading_unnamed(1000))
  worker.cache.put_back(pages)
  assert worker.cached_prefix_tokens(TWO_TURNS.requests[1]) == 72
