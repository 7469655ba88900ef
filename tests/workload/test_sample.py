"""The samples in the package are what their laws and seed make."""

import pathlib

from pdjax import config
from pdjax.workload import sample, traces
from pdjax.workload.build import build
from pdjax.workload.statistics import describe

SAMPLES = pathlib.Path(traces.__file__).with_name("samples")


def test_written_again_byte_for_byte(tmp_path):
  sample.write(tmp_path)
  for name in traces.SAMPLES.values():
    assert (tmp_path / name).read_bytes() == (SAMPLES / name).read_bytes()


def test_azure_sample_looks_like_chat():
  workload = build(config.Workload(kind="azure"))
  stats = describe(workload)
  assert workload.conditions["sample"] is True
  assert stats["num_requests"] == sample.ROWS
  assert 4 < stats["rate_per_s"] < 7
  assert 800 < stats["prompt_tokens"]["mean"] < 1500
  assert 150 < stats["output_tokens"]["mean"] < 300


def test_azure_sample_wears_the_format_s_dress():
  content = (SAMPLES / "azure.csv").read_bytes()
  assert content.count(b"\r\n") == content.count(b"\n") == sample.ROWS
  assert not content.endswith(b"\n")


def test_mooncake_sample_is_made_of_conversations():
  workload = build(config.Workload(kind="mooncake"))
  stats = describe(workload)
  assert stats["num_requests"] == sample.ROWS
  assert 0.3 < stats["prefix_reuse_share"] < 0.7
  for request in workload.requests:
    assert len(request.prefix_ids) == -(-request.prompt_tokens // 512)
  assert any("arrival times" in note for note in workload.conditions["notes"])
