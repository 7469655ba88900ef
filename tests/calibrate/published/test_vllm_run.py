"""A real vLLM run served again under its own rules."""

import json

import pytest

from experiments.vllm_replay import NAME, SCALARS, figures
from pdjax.calibrate.published.vllm_run import read
from pdjax.simulate.scalars import Scalars


@pytest.fixture(name="files")
def _files(tmp_path):
  """Three requests in the three files, the last two with equal prompts."""
  conditions = {
      "kv_cache": {
          "block_size": 16, "num_kv_tokens": 1024,
          "enable_prefix_caching": True,
      },
      "engine_kwargs": {
          "tensor_parallel_size": 1, "max_num_batched_tokens": 64,
          "max_num_seqs": 8,
      },
  }
  said = {"conditions": conditions, "measured": {"makespan_s": 4.5}}
  (tmp_path / "x.json").write_text(json.dumps({"case": said}))
  (tmp_path / "x.requests.csv").write_text(
      "queued_s,input,output,ttft_ms,tpot_ms,e2e_ms\n"
      "0.0,40,3,5,6,7\n1.0,40,3,5,6,7\n3.0,40,3,5,6,7\n"
  )
  ids = ([1, 2, 3], [4, 5, 6], [4, 5, 6])
  (tmp_path / "x.hash_ids.jsonl").write_text(
      "".join(json.dumps({"hash_ids": each}) + "\n" for each in ids)
  )
  return tmp_path


def test_requests_arrive_as_they_were_queued_and_share_prefixes(files):
  real = read(files, "x", preset="llama-3.1-8b", chip="rtx-4090")
  table = real.simulated()
  assert table["arrival_ns"].tolist() == [0, 10**9, 3 * 10**9]
  assert table["reused_tokens"].tolist() == [0, 0, 32]
  assert real.run.strategy.chunk_size == 64
  assert real.run.cluster.kv_tokens == 1024


@pytest.mark.parametrize(
    "said, split, layout, kv_tokens",
    [
        ({}, "1C", (1, 1, 1), 1024),
        ({"data_parallel_size": 2}, "2C", (1, 1, 1), 1024),
        ({"tensor_parallel_size": 4, "kv_cache_dtype": "fp8"}, "1C", (4, 1, 1),
         1024),
        ({"tensor_parallel_size": 2, "data_parallel_size": 2,
          "enable_expert_parallel": True}, "1C", (2, 2, 4), 2048),
    ],
)
def test_the_engines_layout_is_read(files, said, split, layout, kv_tokens):
  tree = json.loads((files / "x.json").read_text())
  tree["case"]["conditions"]["engine_kwargs"] |= said
  tree["case"]["conditions"]["scheduler"] = {"async_scheduling": True}
  (files / "x.json").write_text(json.dumps(tree))
  run = read(files, "x", preset="mixtral-8x7b", chip="h100-sxm").run
  cluster = run.cluster
  assert (cluster.split, cluster.kv_tokens) == (split, kv_tokens)
  assert (cluster.tp, cluster.dp, cluster.ep) == layout
  assert run.model.kv_dtype == ("fp8" if "kv_cache_dtype" in said else None)
  assert run.engine.dispatch_ahead == 1


@pytest.mark.data
def test_the_published_run_is_met(data_dir):
  real = read(
      data_dir / "measured", NAME, preset="llama-3.1-8b", chip="rtx-4090"
  )
  table = real.simulated(Scalars(**SCALARS))
  errors = {name: ours / theirs - 1
            for name, theirs, ours in figures(real, table)}
  assert len(SCALARS) <= 4
  assert abs(errors["TPOT, mean (ms)"]) < 0.05
  assert abs(errors["end to end, mean (ms)"]) < 0.05
  assert abs(errors["TTFT, mean (ms)"]) < 0.10
  assert abs(errors["makespan (s)"]) < 0.05
  assert table["preemptions"].sum() > 50
