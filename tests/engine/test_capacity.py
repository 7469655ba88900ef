"""What does not fit the engine is said before any device work."""

import dataclasses

import pytest

from pdjax import config
from pdjax.engine import capacity
from pdjax.engine.backend import EngineBackend
from pdjax.models.presets import preset
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.workload import Workload
from tests.engine.engine_session import prompts, run_of, workload

TINY = preset("tiny")


def errors_of(run, load=None):
  with pytest.raises(config.ConfigError) as caught:
    capacity.check(run, TINY, load or workload())
  return caught.value.errors


def longer(prompt_tokens):
  load = workload()
  requests = tuple(
      dataclasses.replace(request, prompt_tokens=prompt_tokens)
      for request in load.requests
  )
  return Workload(requests, load.output_tokens, {})


def test_what_fits_passes():
  capacity.check(run_of("2P2D", "disaggregated"), TINY, workload())


def test_pool_pages():
  run = run_of("1P2D", "disaggregated", kv_tokens=100)
  assert capacity.pool_pages_of(run) == [12, 12, 12]
  run = run_of("1C", kv_tokens=None)
  assert capacity.pool_pages_of(run) == [16_384 // 8]


def test_tensor_parallelism_must_fit_the_heads():
  (line,) = errors_of(run_of("1C", tp=3))
  assert line.startswith("cluster.tp:") and "2 kv heads" in line


def test_pipelines_are_refused():
  run = run_of("1C")
  run = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, pp=2)
  )
  (line,) = errors_of(run)
  assert line.startswith("cluster.pp: 2") and "simulated only" in line


def staged(pages, payload="as_is"):
  page_bytes = {"as_is": 4096, "int8": 1280}[payload]
  plan = config.TransferPlan(
      staging_bytes=round(pages * page_bytes), payload=payload
  )
  return run_of("1P1D", "disaggregated", plan=plan)


@pytest.mark.parametrize("payload", ["as_is", "int8"])
def test_no_staging_array_is_larger_than_the_budget(payload):
  run = staged(5.5, payload)
  assert capacity.staging_pages_of(run) == [5, 5]
  for limit in capacity.limits_of(run, TINY, workload()):
    assert limit.staging_M[-1] == 5
  (line,) = errors_of(staged(0.5, payload))
  assert line.startswith("strategy.transfer.staging_bytes:"), line
  ample, free = (
      capacity.limits_of(each, TINY, workload())
      for each in (staged(500, payload), run_of("1P1D", "disaggregated"))
  )
  assert [x.staging_M for x in ample] == [x.staging_M for x in free]


def test_a_pool_below_a_page():
  lines = errors_of(run_of("1C", kv_tokens=7))
  assert any("less than one page" in line for line in lines)


def test_every_request_longer_than_the_pool():
  (line,) = errors_of(run_of("1C", kv_tokens=24))
  assert "no request fits" in line and "25 tokens" in line


def test_requests_beyond_the_models_positions():
  (line,) = errors_of(run_of("1C", kv_tokens=1000), longer(500))
  assert "8 of 8 requests" in line and "512 positions" in line


def test_errors_come_together():
  assert len(errors_of(run_of("1C", tp=3, kv_tokens=24))) == 2


def test_too_few_devices():
  with pytest.raises(config.ConfigError, match="host_devices=9"):
    EngineBackend(run_of("9C"), workload(), prompts())


def test_end_tokens_are_needed_to_stop_at_one():
  run = run_of("1C", stop="eos")
  with pytest.raises(config.ConfigError, match="workload.stop: 'eos'"):
    capacity.end_ids_of(run, ())
  assert capacity.end_ids_of(run, [3]) == (3,)
  assert capacity.end_ids_of(run_of("1C"), [3]) == ()
  own = config.Sampling(stop_ids=(5, 3))
  run = run_of("1C", stop="eos", sampling=own)
  assert capacity.end_ids_of(run, ()) == (5, 3)
  assert capacity.end_ids_of(run, [3]) == (3, 5)


def test_a_stop_id_is_a_token_of_the_model():
  own = config.Sampling(stop_ids=(255, 256))
  (line,) = errors_of(run_of("1C", stop="eos", sampling=own))
  assert line == "sampling.stop_ids[1]: tiny has tokens 0 to 255, got 256"


def test_kinds_by_role_and_strategy():
  def kinds(run):
    return [
        set(limit.kinds) for limit in capacity.limits_of(run, TINY, workload())
    ]

  assert kinds(run_of("1C")) == [{"prefill", "decode"}]
  assert kinds(run_of("1C", "chunked", chunk_size=16)) == [
      {"prefill", "decode", "mixed"}
  ]
  assert kinds(run_of("1P1D", "disaggregated")) == [
      {"prefill", "gather"}, {"prefill", "decode", "scatter"},
  ]
  assert kinds(run_of("1C", "my:policy")) == [{"prefill", "decode", "mixed"}]


def test_too_few_programs_are_refused_with_the_least_that_do():
  run = run_of("1C", "chunked", chunk_size=16)
  few = dataclasses.replace(run, engine=config.Engine(max_programs=2))
  (line,) = errors_of(few)
  assert line.startswith("engine.max_programs: must be at least 3 ")
  enough = dataclasses.replace(run, engine=config.Engine(max_programs=3))
  capacity.check(enough, TINY, workload())


def test_workers_that_share_devices_need_one_each():
  run = run_of("1P1D", "disaggregated", share=True, tp=2)
  assert all("cluster.share_devices" in line for line in errors_of(run))


def test_a_chunk_beyond_all_prompts_compiles_no_larger_step():
  def largest(chunk_size):
    run = run_of("1C", "chunked", chunk_size=chunk_size)
    (limits,) = capacity.limits_of(run, TINY, workload())
    return limits.U

  assert largest(16) == 16
  assert 16 < largest(10**9) == largest(10**6) < 1000


def test_memory_grows_with_what_is_kept():
  def needed(run):
    return capacity.memory_bytes(run, TINY, workload())

  one, two = run_of("1C", kv_tokens=1000), run_of("2C", kv_tokens=1000)
  # A cached token is 2 layers of key and value, 2 heads of 16 floats: 512 B.
  more = run_of("1C", kv_tokens=1008)
  assert needed(more) - needed(one) == 8 * 512
  assert needed(two) == 2 * needed(one)
  shared = run_of("2C", kv_tokens=1000, share=True)
  assert needed(one) < needed(shared) < needed(two)
  kept = dataclasses.replace(
      one, cluster=dataclasses.replace(one.cluster, host_kv_tokens=64)
  )
  assert needed(kept) - needed(one) == 64 * 512


def test_both_backends_keep_whole_pages_of_what_is_said():
  run = run_of("1C", kv_tokens=100)
  cluster = dataclasses.replace(run.cluster, chip="h100-sxm")
  model = config.Model(preset="tiny", dtype="bfloat16")
  simulated = dataclasses.replace(run, cluster=cluster, model=model)
  assert cluster_of(simulated).pool_pages == (12,)
  assert capacity.pool_pages_of(run) == [12]
