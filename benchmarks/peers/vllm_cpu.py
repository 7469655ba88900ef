"""vLLM's CPU build as a contender: its engine in this process, step by step.

The settings are fixed here, before anything is measured: float32, torch.compile
as it is by default, no prefix cache (prompts come up again), as many sequences
as the largest batch, and 2,048 tokens in a step, more than which its products
gain nothing.
"""

import os
import time
from typing import Any

from benchmarks.peers import talk

_STEP_TOKENS = 2048


class Vllm:
  """An `LLM`, driven through its engine so that each step can be timed."""

  def __init__(self, asked: dict[str, Any]):
    cores = sorted(os.sched_getaffinity(0))
    os.environ |= {
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": ",".join(map(str, cores)),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "HF_HUB_OFFLINE": "1",
    }
    import vllm  # pyright: ignore[reportMissingImports]

    self._vllm, self._vocab, self._asked = vllm, asked["vocab"], 0
    self._llm = vllm.LLM(
        model=asked["folder"], dtype="float32", skip_tokenizer_init=True,
        max_model_len=asked["longest"], max_num_seqs=asked["seqs"],
        max_num_batched_tokens=max(_STEP_TOKENS, asked["longest"]),
        enable_prefix_caching=False, seed=0,
    )
    self._engine: Any = self._llm.llm_engine
    self._threads = len(cores)

  def about(self) -> dict[str, Any]:
    preloaded = os.environ.get("LD_PRELOAD", "").split(":")
    names = ", ".join(os.path.basename(each) for each in preloaded)
    return {
        "version": self._vllm.__version__,
        "settings": (
            f"float32, compiled, no prefix cache, max_num_batched_tokens"
            f" {_STEP_TOKENS}, {self._threads} threads; preloaded:"
            f" {names or 'nothing'}"
        ),
    }

  def prefill(self, tokens: int) -> dict[str, Any]:
    began = time.perf_counter()
    self._add(0, tokens, 1)
    while self._engine.has_unfinished_requests():
      self._engine.step()
    return {"seconds": time.perf_counter() - began}

  def decode(self, batch: int, context: int, steps: int) -> dict[str, Any]:
    """Steps after all have their first token, before any has its last."""
    made = {self._add(i, context, steps + batch + 2): 0 for i in range(batch)}
    while min(made.values()) < 1:
      self._step(made)
    seconds = []
    for _ in range(steps):
      began = time.perf_counter()
      self._step(made)
      seconds.append(time.perf_counter() - began)
    while self._engine.has_unfinished_requests():
      self._engine.step()
    return {"seconds": seconds}

  def offline(self, requests: int, prompt: int, output: int) -> dict[str, Any]:
    began = time.perf_counter()
    names = [self._add(i, prompt, output) for i in range(requests)]
    tokens: dict[str, list[int]] = {}
    while self._engine.has_unfinished_requests():
      for found in self._engine.step():
        tokens[found.request_id] = list(found.outputs[0].token_ids)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "tokens": [tokens[name] for name in names]}

  def _step(self, made: dict[str, int]) -> None:
    for found in self._engine.step():
      made[found.request_id] = len(found.outputs[0].token_ids)

  def _add(self, request: int, tokens: int, output: int) -> str:
    """Hands a request over; its name."""
    self._asked += 1
    name = str(self._asked)
    sampling = self._vllm.SamplingParams(
        temperature=0.0, max_tokens=output, ignore_eos=True, detokenize=False
    )
    prompt = talk.prompt_of(request, tokens, self._vocab)
    self._engine.add_request(name, {"prompt_token_ids": prompt}, sampling)
    return name


if __name__ == "__main__":
  talk.answer(Vllm)
