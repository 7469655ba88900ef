"""Tokens in bytes: joined they are the tokenizer's own text."""

import pytest

from pdjax.models.token_bytes import token_bytes

TEXT = "Zürich costs 12 €, says 東京.\n\tYes: <end> ok"


def trained(decoder, pre_tokenizer, model, **training):
  """A small tokenizer of its own text, with one control token."""
  from tokenizers import Tokenizer, trainers

  core = Tokenizer(model)
  core.pre_tokenizer, core.decoder = pre_tokenizer, decoder
  trainer = trainers.BpeTrainer(
      vocab_size=400, special_tokens=["<end>"], show_progress=False, **training
  )
  core.train_from_iterator([TEXT] * 3, trainer)
  return core


def byte_level():
  from tokenizers import decoders, models, pre_tokenizers

  return trained(
      decoders.ByteLevel(),
      pre_tokenizers.ByteLevel(add_prefix_space=False),
      models.BPE(),
      initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
  )


def sentencepiece():
  from tokenizers import decoders, models, pre_tokenizers

  return trained(
      decoders.Sequence([
          decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
      ]),
      pre_tokenizers.Metaspace(prepend_scheme="never", split=False),
      models.BPE(byte_fallback=True),
  )


@pytest.mark.parametrize("core", [byte_level, sentencepiece])
def test_joined_bytes_are_the_text(core):
  core = core()
  size = core.get_vocab_size()
  spelled = token_bytes(core, size + 2)
  ids = core.encode(TEXT).ids
  text = b"".join(spelled[id] for id in ids).decode()
  assert text == core.decode(ids, skip_special_tokens=False)
  assert spelled[core.token_to_id("<end>")] == b"<end>"
  assert spelled[size:] == (b"", b"")


def test_a_token_may_be_part_of_a_character():
  core = byte_level()
  spelled = token_bytes(core, core.get_vocab_size())
  ids = core.encode("🙂").ids
  assert len(ids) > 1
  assert b"".join(spelled[id] for id in ids) == "🙂".encode()


def test_byte_tokens_of_sentencepiece():
  from tokenizers import Tokenizer, decoders, models

  core = Tokenizer(models.BPE({"<0x0A>": 0, "▁a": 1, "<0x": 2}, []))
  core.decoder = decoders.ByteFallback()
  assert token_bytes(core, 3) == (b"\n", b" a", b"<0x")
