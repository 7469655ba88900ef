"""Hugging Face transformers as a contender: float32, greedy, dynamic cache.

Prompts of a batch are equally long, so there is no padding and no mask to pay
for; an offline run is one batch of all requests, which is the best it can do.
"""

import time
from typing import Any

from benchmarks.peers import talk


class Transformers:
  """One model in eager mode, on as many threads as it is told."""

  def __init__(self, asked: dict[str, Any]):
    import torch
    import transformers

    torch.set_num_threads(asked["threads"])
    torch.set_grad_enabled(False)
    self._torch, self._threads = torch, asked["threads"]
    self._version = transformers.__version__
    self._model = transformers.AutoModelForCausalLM.from_pretrained(
        asked["folder"], dtype=torch.float32, attn_implementation="sdpa"
    ).eval()
    self._caches: dict[tuple[int, int], Any] = {}

  def about(self) -> dict[str, Any]:
    return {
        "version": f"{self._version}, torch {self._torch.__version__}",
        "settings": (
            f"float32, eager, sdpa, dynamic cache, {self._threads} threads,"
            " offline as one batch"
        ),
    }

  def prefill(self, tokens: int) -> dict[str, Any]:
    token_BT = self._prompts(1, tokens)
    began = time.perf_counter()
    self._next(token_BT, None)
    return {"seconds": time.perf_counter() - began}

  def decode(self, batch: int, context: int, steps: int) -> dict[str, Any]:
    """The cache of the contexts is kept from call to call and cut back."""
    if (batch, context) not in self._caches:
      found = self._next(self._prompts(batch, context), None)
      self._caches[batch, context] = found
    token_B1, cache = self._caches[batch, context]
    seconds = []
    for _ in range(steps):
      began = time.perf_counter()
      token_B1, cache = self._next(token_B1, cache)
      token_B1.tolist()
      seconds.append(time.perf_counter() - began)
    cache.crop(-steps)
    return {"seconds": seconds}

  def offline(self, requests: int, prompt: int, output: int) -> dict[str, Any]:
    token_BT = self._prompts(requests, prompt)
    began = time.perf_counter()
    token_B1, cache = self._next(token_BT, None)
    made = [token_B1]
    for _ in range(output - 1):
      token_B1, cache = self._next(token_B1, cache)
      made.append(token_B1)
    tokens = self._torch.cat(made, dim=1).tolist()
    return {"seconds": time.perf_counter() - began, "tokens": tokens}

  def _next(self, token_BT, cache) -> tuple[Any, Any]:
    """(greedy tokens [B, 1], the cache with what was fed)."""
    found = self._model(
        input_ids=token_BT, past_key_values=cache, use_cache=True,
        logits_to_keep=1,
    )
    return found.logits[:, -1:].argmax(-1), found.past_key_values

  def _prompts(self, batch: int, tokens: int):
    vocab = self._model.config.vocab_size
    return self._torch.tensor(
        [talk.prompt_of(i, tokens, vocab) for i in range(batch)]
    )


if __name__ == "__main__":
  talk.answer(Transformers)
