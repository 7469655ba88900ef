"""Text to token ids and back, from the vocabulary inside a GGUF file.

Byte-level BPE as SmolLM2 was trained with: every digit stands alone, then
words are split as GPT-2 does, without a space before the first.
"""

import pathlib

from pdjax import config
from pdjax.models import gguf_file

_CONTROL = 3
"""GGUF's token type of `<|im_start|>` and its like."""


class Tokenizer:
  """Encodes without adding tokens of its own."""

  def __init__(
      self,
      tokens: list[str],
      merges: list[str],
      control: list[str],
      eos_ids: tuple[int, ...],
  ):
    from tokenizers import Tokenizer, decoders, models

    vocabulary = {token: index for index, token in enumerate(tokens)}
    pairs = [(a, b) for a, b in (merge.split(" ", 1) for merge in merges)]
    bpe = models.BPE(vocab=vocabulary, merges=pairs)
    self._tokenizer = Tokenizer(bpe)
    self._tokenizer.pre_tokenizer = _pre_tokenizer()
    self._tokenizer.decoder = decoders.ByteLevel()
    self._tokenizer.add_special_tokens(control)
    self.vocab_size = len(tokens)
    self.eos_ids = eos_ids

  def encode(self, text: str) -> list[int]:
    """Token ids; control tokens spelled in the text count as such."""
    return self._tokenizer.encode(text, add_special_tokens=False).ids

  def decode(self, ids: list[int]) -> str:
    """The text, control tokens spelled out."""
    return self._tokenizer.decode(ids, skip_special_tokens=False)


def load_tokenizer(path: pathlib.Path) -> Tokenizer:
  """The tokenizer of a GGUF file.

  Raises:
    ConfigError: no GGUF file, or its tokenizer is not SmolLM2's kind.
  """
  file = gguf_file.opened(path)
  kind = (
      file.field("tokenizer.ggml.model"), file.field("tokenizer.ggml.pre")
  )
  if kind[0] != "gpt2" or kind[1] not in ("smollm", None):
    raise config.ConfigError([
        f"model.weights: {str(path)!r} has a {kind[0]}/{kind[1]} tokenizer;"
        " only gpt2/smollm is known"
    ])
  tokens = file.field("tokenizer.ggml.tokens")
  types = file.field("tokenizer.ggml.token_type", [])
  control = [
      token for token, type_ in zip(tokens, types, strict=False)
      if type_ == _CONTROL
  ]
  eos = file.field("tokenizer.ggml.eos_token_id")
  return Tokenizer(
      tokens, file.field("tokenizer.ggml.merges"), control,
      () if eos is None else (int(eos),),
  )


def _pre_tokenizer():
  from tokenizers import pre_tokenizers

  return pre_tokenizers.Sequence([
      pre_tokenizers.Digits(individual_digits=True),
      pre_tokenizers.ByteLevel(add_prefix_space=False),
  ])
