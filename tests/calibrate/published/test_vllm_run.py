"""A real vLLM run served again under its own rules."""

import json

import pytest

from experiments import vllm_replay
from experiments.vllm_replay import NAME, SCALARS, figures
from pdjax.calibrate.published.vllm_run import read
from pdjax.config import ConfigError
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


@pytest.mark.parametrize(
    ("preset", "chip", "line"),
    [
        ("llama-3.1-8b", "h100-sxm", "on 'rtx-4090', not 'h100-sxm': it is not"
         " comparable"),
        ("llama-3-8b", "rtx-4090", "of 'llama-3.1-8b', not 'llama-3-8b'"),
    ],
)
def test_only_what_was_measured_is_compared(files, preset, chip, line):
  tree = json.loads((files / "x.json").read_text())
  tree["case"]["conditions"] |= {
      "model": "meta-llama/Llama-3.1-8B-Instruct",
      "hardware": {"device_name": "NVIDIA GeForce RTX 4090"},
  }
  (files / "x.json").write_text(json.dumps(tree))
  with pytest.raises(ConfigError) as told:
    read(files, "x", preset=preset, chip=chip)
  assert len(told.value.errors) == 1 and line in str(told.value)
  assert read(files, "x", preset="llama-3.1-8b", chip="rtx-4090").served == (
      "meta-llama/Llama-3.1-8B-Instruct on NVIDIA GeForce RTX 4090"
  )


@pytest.fixture(name="replay")
def _replay(files, tmp_path_factory, monkeypatch, capsys):
  """The script on the three requests; its status and what it printed."""
  data = tmp_path_factory.mktemp("data")
  (data / "measured").symlink_to(files)

  def run(*flags):
    asked = ("vllm_replay.py", f"--data={data}", "--name=x", *flags)
    monkeypatch.setattr("sys.argv", list(asked))
    return vllm_replay.main(), *capsys.readouterr()

  return run


def test_a_table_says_where_its_scalars_are_from(replay, tmp_path):
  status, told, _ = replay(f"--out={tmp_path / 'page.md'}")
  assert status == 0 and f"set by hand on {NAME}." in told
  page = (tmp_path / "page.md").read_text()
  assert page.startswith("# Fidelity: x\n") and "set by hand on" in page
  _, told, _ = replay("--scalar=hbm_efficiency=0.5")
  assert "With hbm_efficiency 0.5" in told and "as said by --scalar." in told
  _, told, _ = replay("--chip=h100-sxm")
  assert "Scalars: fitted to published times of H100 and H800" in told
  status, told, _ = replay("--chip=l4", "--scalar=hbm_efficiency=0.85")
  assert "No table with other scalars: as said by --scalar." in told


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("--scalar=foo=3", "--scalar=foo=3: no scalar 'foo'; known: matmul"),
        ("--scalar=hbm_eficiency=1", "; did you mean 'hbm_efficiency'?; known"),
        ("--scalar=hbm_efficiency", "expected NAME=VALUE"),
        ("--scalar=hbm_efficiency=x", "expected a number, got 'x'"),
        ("--scalar=hbm_efficiency=2", "must be in (0, 1]"),
        ("--name=y", "measured/y.json: no such file"),
    ],
)
def test_a_wrong_flag_is_one_line(replay, flag, line):
  status, told, wrong = replay(flag)
  assert status == 2 and not told
  assert line in wrong and wrong.count("\n") == 1


def test_a_file_that_lacks_something_is_one_line(replay, files):
  (files / "x.json").write_text('{"case": {}}')
  assert replay() == (2, "", "--name: x: lacks 'conditions'\n")


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
