"""The script that times kernels, from end to end at sizes that time nothing."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from pdjax_kernels import tuned
from pdjax_kernels.paged_decode.blocks import TritonBlocks

from benchmarks import contenders, kernels, loads, tuning
from benchmarks.contenders import Family
from benchmarks.loads import Load


def test_smoke(tmp_path, capsys, monkeypatch):
  """All kernels, as `.ci/extra` has it, would take three times as long."""
  file = tmp_path / "rows.json"
  status = kernels.main([
      "--smoke", "--tune", "--kernels=paged_decode,kv_write",
      f"--tables={tmp_path}", f"--json={file}",
  ])
  assert status == 0
  written, said = json.loads(file.read_text()), capsys.readouterr().out
  assert said.startswith("SMOKE") and "met:" not in said
  assert written["conditions"]["provenance"] == kernels.SMOKE_WARNING
  found = {(x["load"]["kernel"], x["contender"]): x for x in written["rows"]}
  assert found["paged_decode", "ours"]["error"] < 2e-5
  assert ("paged_decode", "jax.nn xla, contiguous") in found
  assert ("kv_write", "xla") in found
  # The table is one that the kernels read.
  monkeypatch.setattr(tuned, "FOLDER", tmp_path)
  tuned._entries.cache_clear()
  spec, device = kernels.SMOKE[0].spec, jax.devices()[0].device_kind
  read = tuned.blocks("paged_decode", TritonBlocks, spec, device)
  assert isinstance(read, TritonBlocks)
  tuned._entries.cache_clear()


def test_a_cpu_is_no_accelerator(capsys):
  assert kernels.main([]) == 2
  assert "no kernels for cpu" in capsys.readouterr().err


def test_nothing_is_timed_where_a_kernel_is_wrong(monkeypatch, capsys):
  monkeypatch.setattr(contenders, "ours", lambda load, x, *_: (
      lambda: jnp.zeros_like(x.q_TNH)
  ))
  monkeypatch.setattr(kernels, "_timed", lambda *_: pytest.fail("timed"))
  assert kernels.main(["--smoke", "--kernels=paged_decode"]) == 1
  assert "wrong; nothing is timed" in capsys.readouterr().out


def test_what_a_load_moves_and_computes():
  """By hand: 2 x 4 tokens, 2 heads of 64, 1 kv head, bfloat16."""
  decode = Load(
      kernel="paged_decode", num_heads=2, num_kv_heads=1, head_dim=64, rows=2,
      tokens=4,
  )
  cells = 8 * 2 * 64 * 2
  assert decode.moved_bytes == cells + 2 * (2 * 2 * 64 * 2)
  assert decode.flops == 4 * 8 * 2 * 64
  prefill = Load(
      kernel="chunk_prefill", num_heads=2, num_kv_heads=1, head_dim=64, rows=2,
      tokens=4,
  )
  assert prefill.flops == 4 * 2 * (1 + 2 + 3 + 4) * 2 * 64
  write = Load(
      kernel="kv_write", num_kv_heads=1, head_dim=64, rows=2, tokens=4,
      kv_dtype="int8",
  )
  assert write.moved_bytes == 8 * 2 * 64 * (2 + 1)


def test_targets_are_said_of_the_loads_they_speak_of():
  bench = kernels.Bench(
      family=Family(name="triton"), device="x", smoke=False,
      copied_bytes_per_s=4e12, matmul_flops_per_s=8e14,
  )
  decode = Load(kernel="paged_decode", rows=64, tokens=4096)
  prefill = Load(kernel="chunk_prefill", tokens=8192)
  short = Load(kernel="paged_decode", rows=1, tokens=4096)
  seconds = {
      decode: decode.moved_bytes / 3.3e12, short: 1.0,
      prefill: prefill.flops / 3e14,
  }
  found = [
      kernels.Row(load=load, contender="ours", seconds=seconds[load])
      for load in seconds
  ]
  met, missed = kernels.verdicts(found, bench)
  assert met.startswith("met: paged_decode") and "82.5% of copy" in met
  assert missed.startswith("NOT MET: chunk_prefill") and "300 TF" in missed


@pytest.mark.parametrize("family", ["triton", "tpu"])
@pytest.mark.parametrize("kernel", ["paged_decode", "chunk_prefill"])
def test_candidates_begin_with_the_guess(family, kernel):
  spec = Load(kernel=kernel).spec
  choices = list(tuning.candidates(family, kernel, spec))
  assert choices[0] == tuning.chosen(family, kernel, spec)
  assert len(choices) == len(set(choices)) >= 20


def test_the_fastest_that_compiles_is_best():
  def seconds(blocks):
    if blocks == 3:
      raise RuntimeError("too large")
    return {1: 5.0, 2: 2.0, 4: 4.0}[blocks]

  found = tuning.best(iter([1, 2, 3, 4]), seconds)
  assert found == tuning.Tried(2, 2.0, 5.0, tried=4, refused=1)
  assert tuning.best(iter([3, 1]), seconds) is None


def test_every_page_is_its_own():
  x = loads.arrays(Load(kernel="chunk_prefill", rows=3, tokens=40))
  pages = np.sort(np.asarray(x.page_RM).ravel())
  np.testing.assert_array_equal(pages, np.arange(1, 10))
  assert set(np.unique(x.kv_P2KCH.astype(jnp.float32))) <= {
      n / 2 for n in range(-4, 4)
  }
