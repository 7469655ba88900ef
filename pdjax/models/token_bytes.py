"""What each token spells, in bytes.

A token may hold part of a character, so text is put together from bytes. Two
kinds of vocabulary are known by their decoder: byte-level, whose tokens are
spelled with a printable character for each byte (GPT-2), and SentencePiece's,
with `▁` for a space and `<0x0A>` for a byte. Tokens of any other are taken as
their text. Control tokens spell their names.
"""

import json
from typing import Any

_PRINTABLE = (range(33, 127), range(161, 173), range(174, 256))
"""Bytes that stand for themselves in byte-level vocabularies."""


def token_bytes(core: Any, size: int) -> tuple[bytes, ...]:
  """The bytes of tokens 0 to `size` - 1; of unused ones none.

  Args:
    core: a `tokenizers.Tokenizer`.
    size: of the model's vocabulary, which may be padded.
  """
  tree = json.loads(core.to_str())
  kinds = _kinds(tree.get("decoder"))
  added = {token["id"]: token["content"] for token in tree["added_tokens"]}
  spell = _plain
  if "ByteLevel" in kinds:
    spell = _byte_level
  elif kinds & {"ByteFallback", "Metaspace"}:
    spell = _sentencepiece
  spelled = [b""] * size
  for token, id in core.get_vocab(with_added_tokens=True).items():
    if id < size:
      spelled[id] = added[id].encode() if id in added else spell(token)
  return tuple(spelled)


def _kinds(decoder: Any) -> set[str]:
  """The types of a decoder and of those it is made of."""
  if decoder is None:
    return set()
  inner = [_kinds(part) for part in decoder.get("decoders", ())]
  return {decoder["type"]}.union(*inner)


def _plain(token: str) -> bytes:
  return token.encode()


def _byte_level(token: str) -> bytes:
  return bytes(_BYTE_OF[character] for character in token)


def _sentencepiece(token: str) -> bytes:
  if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
    return bytes([int(token[3:5], 16)])
  return token.replace("▁", " ").encode()


def _alphabet() -> dict[str, int]:
  """Other bytes are spelled, in their order, from code point 256 on."""
  themselves = [byte for part in _PRINTABLE for byte in part]
  others = sorted(set(range(256)).difference(themselves))
  spelled = {chr(byte): byte for byte in themselves}
  return spelled | {chr(256 + n): byte for n, byte in enumerate(others)}


_BYTE_OF = _alphabet()
