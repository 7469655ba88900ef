"""Explicit blocks go before measured ones, and these before guessed ones."""

import dataclasses

import pytest
from pdjax_kernels import tuned
from pdjax_kernels.chunk_prefill import blocks as prefill_blocks
from pdjax_kernels.paged_decode import blocks as decode_blocks
from pdjax_kernels.spec import Spec

SPEC = Spec(
    num_heads=32, num_kv_heads=8, head_dim=128, page_tokens=16,
    dtype="bfloat16", kv_dtype="bfloat16",
)
KINDS = {
    "paged_decode": (decode_blocks.triton_blocks, decode_blocks.TritonBlocks(
        tokens=32, programs=99, warps=2, stages=5)),
    "chunk_prefill": (prefill_blocks.triton_blocks, prefill_blocks.TritonBlocks(
        rows=16, tokens=256)),
}
TPU_KINDS = {
    "paged_decode": (
        decode_blocks.tpu_blocks, decode_blocks.TpuBlocks(pages=3, heads=4)
    ),
    "chunk_prefill": (
        prefill_blocks.tpu_blocks,
        prefill_blocks.TpuBlocks(tokens=16, pages=3, heads=4),
    ),
}


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
  monkeypatch.setattr(tuned, "FOLDER", tmp_path)
  tuned._entries.cache_clear()
  yield
  tuned._entries.cache_clear()


@pytest.mark.parametrize("kinds", [KINDS, TPU_KINDS], ids=["triton", "tpu"])
@pytest.mark.parametrize("kernel", KINDS)
def test_what_was_measured_on_a_device_is_used_there(kinds, kernel):
  choose, best = kinds[kernel]
  guess = choose(SPEC)
  assert guess != best
  key = tuned.key(kernel, type(best), SPEC)
  tuned.write("NVIDIA H200", {key: dataclasses.asdict(best)}, {})
  assert choose(SPEC, "NVIDIA H200") == best
  assert choose(SPEC, "NVIDIA H100") == choose(SPEC, None) == guess
  other = dataclasses.replace(SPEC, page_tokens=32)
  assert choose(other, "NVIDIA H200") == choose(other)
