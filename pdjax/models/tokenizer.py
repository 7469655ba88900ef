"""Text to token ids and back, and conversations to text.

The splitting itself is the `tokenizers` package's. What a model adds to it,
its end tokens, markers and chat template, comes from the files beside the
weights.
"""

import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax import config
from pdjax.models import chat
from pdjax.models.jsonfile import read_object
from pdjax.models.token_bytes import token_bytes
from pdjax.models.unfit import unfit

FILES = ("tokenizer.json", "tokenizer_config.json", "generation_config.json")
"""What `save` writes and `load_folder` reads, the first without fail."""


class Tokenizer:
  """Encodes without adding tokens of its own, unless asked to.

  Args:
    core: a `tokenizers.Tokenizer`.
    eos_ids: tokens that end an answer.
    chat_template: Jinja source; None if the model knows no conversations.
    markers: texts of `bos_token`, `eos_token` and their like.
  """

  def __init__(
      self,
      core: Any,
      *,
      eos_ids: tuple[int, ...] = (),
      chat_template: str | None = None,
      markers: Mapping[str, str] | None = None,
  ):
    self._core = core
    self.eos_ids = eos_ids
    self.chat_template = chat_template
    self.markers = dict(markers or {})

  @property
  def vocab_size(self) -> int:
    """Tokens it knows; a model's own table may be padded beyond."""
    return self._core.get_vocab_size()

  def encode(self, text: str, *, special: bool = False) -> list[int]:
    """Token ids; control tokens spelled in the text count as such.

    `special` adds what the model expects around a text, such as a token that
    begins it. A chat template has that in its text already.
    """
    return self._core.encode(text, add_special_tokens=special).ids

  def decode(self, ids: Sequence[int]) -> str:
    """The text, control tokens spelled out."""
    return self._core.decode(list(ids), skip_special_tokens=False)

  def spelled(self, size: int) -> tuple[bytes, ...]:
    """The bytes of a model's tokens, 0 to `size` - 1."""
    return token_bytes(self._core, size)

  def chat(self, messages: Sequence[chat.Message]) -> str:
    """The conversation as text, up to where the assistant speaks next.

    Raises:
      ConfigError: the model has no chat template, or it refuses these.
    """
    if self.chat_template is None:
      raise config.ConfigError(["the model's tokenizer has no chat template"])
    return chat.rendered(self.chat_template, messages, self.markers)

  def save(self, folder: pathlib.Path) -> None:
    """Writes the files that `load_folder` reads."""
    more = {"chat_template": self.chat_template} if self.chat_template else {}
    said = json.dumps({**self.markers, **more}, indent=2)
    (folder / FILES[0]).write_text(self._core.to_str(), encoding="utf-8")
    (folder / FILES[1]).write_text(said, encoding="utf-8")
    save_end_ids(folder, self.eos_ids)


def has_tokenizer(path: pathlib.Path) -> bool:
  """Whether weights came with one; a GGUF file always does."""
  return path.is_file() or (path / FILES[0]).is_file()


def load_tokenizer(path: pathlib.Path) -> Tokenizer:
  """The tokenizer that came with weights: of a folder or a GGUF file.

  Raises:
    ConfigError: there is none, or none that can be read.
  """
  if path.is_dir():
    return load_folder(path)
  from pdjax.models import gguf_tokenizer

  return gguf_tokenizer.load(path)


def end_ids_of(path: pathlib.Path) -> tuple[int, ...]:
  """Tokens that end an answer; a folder may declare them without a tokenizer.

  Raises:
    ConfigError: there is a tokenizer that cannot be read.
  """
  if has_tokenizer(path):
    return load_tokenizer(path).eos_ids
  return _declared_ids(path)


def save_end_ids(folder: pathlib.Path, ids: Sequence[int]) -> None:
  """Declares the tokens that end an answer."""
  text = json.dumps({"eos_token_id": list(ids)})
  (folder / FILES[2]).write_text(text, encoding="utf-8")


def load_folder(folder: pathlib.Path) -> Tokenizer:
  """From `tokenizer.json` and the small files beside it.

  Raises:
    ConfigError: there is no such file, or it cannot be read.
  """
  from tokenizers import Tokenizer as Core

  path = folder / FILES[0]
  if not path.is_file():
    raise unfit(folder, f"has no {FILES[0]}, which text needs")
  try:
    core = Core.from_file(str(path))
  except Exception as error:  # the package raises nothing narrower
    raise unfit(path, f"is no tokenizer ({error})") from error
  said = _said(folder / FILES[1])
  markers = {
      name: value["content"] if isinstance(value, dict) else value
      for name, value in said.items()
      if name.endswith("_token") and isinstance(value, str | dict)
  }
  return Tokenizer(
      core,
      eos_ids=_eos_ids(folder, core, markers),
      chat_template=_chat_template(folder, said),
      markers=markers,
  )


def _said(path: pathlib.Path) -> dict[str, Any]:
  """A file's object; an empty one if there is no such file."""
  return read_object(path) if path.is_file() else {}


def _eos_ids(
    folder: pathlib.Path, core: Any, markers: Mapping[str, str]
) -> tuple[int, ...]:
  """Those that are declared, else that of the marker."""
  if declared := _declared_ids(folder):
    return declared
  marked = core.token_to_id(markers.get("eos_token", ""))
  return () if marked is None else (marked,)


def _declared_ids(folder: pathlib.Path) -> tuple[int, ...]:
  """From the generation config, else the model's."""
  for name in (FILES[2], "config.json"):
    found = _said(folder / name).get("eos_token_id")
    if found is not None:
      return tuple(found) if isinstance(found, list) else (found,)
  return ()


def _chat_template(
    folder: pathlib.Path, said: Mapping[str, Any]
) -> str | None:
  """A file of its own, or in the tokenizer's config, maybe one of several."""
  own = folder / "chat_template.jinja"
  if own.is_file():
    return own.read_text(encoding="utf-8")
  found = said.get("chat_template")
  if isinstance(found, list):
    named = {entry["name"]: entry["template"] for entry in found}
    return named.get("default")
  return found
