"""The tokenizer inside a GGUF file.

Byte-level BPE as SmolLM2 was trained with: every digit stands alone, then
words are split as GPT-2 does, without a space before the first.
"""

import pathlib

from pdjax.models import gguf_file
from pdjax.models.tokenizer import Tokenizer
from pdjax.models.unfit import unfit

_CONTROL = 3
"""GGUF's token type of `<|im_start|>` and its like."""

_MARKERS = {
    "bos_token": "tokenizer.ggml.bos_token_id",
    "eos_token": "tokenizer.ggml.eos_token_id",
}


def load(path: pathlib.Path) -> Tokenizer:
  """The tokenizer of a GGUF file.

  Raises:
    ConfigError: no GGUF file, or its tokenizer is not SmolLM2's kind.
  """
  file = gguf_file.opened(path)
  kind = (
      file.field("tokenizer.ggml.model"), file.field("tokenizer.ggml.pre")
  )
  if kind[0] != "gpt2" or kind[1] not in ("smollm", None):
    raise unfit(
        path,
        f"has a {kind[0]}/{kind[1]} tokenizer; only gpt2/smollm is known",
    )
  tokens = file.field("tokenizer.ggml.tokens")
  ids = {name: file.field(key) for name, key in _MARKERS.items()}
  eos = ids["eos_token"]
  return Tokenizer(
      _core(file, tokens),
      eos_ids=() if eos is None else (int(eos),),
      chat_template=file.field("tokenizer.chat_template"),
      markers={n: tokens[i] for n, i in ids.items() if i is not None},
  )


def _core(file: gguf_file.GGUFFile, tokens: list[str]):
  from tokenizers import Tokenizer, decoders, models, pre_tokenizers

  merges = file.field("tokenizer.ggml.merges")
  core = Tokenizer(models.BPE(
      vocab={token: index for index, token in enumerate(tokens)},
      merges=[(a, b) for a, b in (merge.split(" ", 1) for merge in merges)],
  ))
  core.pre_tokenizer = pre_tokenizers.Sequence([
      pre_tokenizers.Digits(individual_digits=True),
      pre_tokenizers.ByteLevel(add_prefix_space=False),
  ])
  core.decoder = decoders.ByteLevel()
  types = file.field("tokenizer.ggml.token_type", [])
  core.add_special_tokens([
      token for token, type_ in zip(tokens, types, strict=False)
      if type_ == _CONTROL
  ])
  return core
