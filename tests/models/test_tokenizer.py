"""Tokenizers of folders, and chat templates."""

import json

import pytest

from pdjax import config
from pdjax.models.tokenizer import Tokenizer, end_ids_of, load_tokenizer

TEMPLATE = """
{%- for message in messages %}
  {%- if message.role == 'tool' %}
    {{- raise_exception('no tools here') }}
  {%- endif %}
  {{- bos_token + message.role + ': ' + message.content | trim + eos_token }}
{%- endfor %}
{%- if add_generation_prompt %}
  {{- 'assistant: ' }}
{%- endif %}
"""
MARKERS = {"bos_token": "<s>", "eos_token": "</s>"}


def core():
  """Four words and two control tokens."""
  from tokenizers import Tokenizer as Core
  from tokenizers import models, pre_tokenizers

  words = ["<s>", "</s>", "?", "to", "be", "or", "not"]
  made = Core(models.WordLevel({w: i for i, w in enumerate(words)}, "?"))
  made.pre_tokenizer = pre_tokenizers.Whitespace()
  made.add_special_tokens(list(MARKERS.values()))
  return made


@pytest.fixture(name="folder")
def _folder(tmp_path):
  Tokenizer(
      core(), eos_ids=(1, 4), chat_template=TEMPLATE, markers=MARKERS
  ).save(tmp_path)
  return tmp_path


def _write(path, value):
  path.write_text(json.dumps(value))


def test_saved_and_loaded_again(folder):
  loaded = load_tokenizer(folder)
  assert loaded.encode("<s>to be or") == [0, 3, 4, 5]
  assert loaded.decode([3, 1]) == "to </s>"
  assert (loaded.eos_ids, loaded.vocab_size) == ((1, 4), 7)
  assert loaded.markers == MARKERS


def test_conversation(folder):
  said = [
      {"role": "user", "content": " to be "},
      {"role": "assistant", "content": "or"},
  ]
  assert load_tokenizer(folder).chat(said) == (
      "<s>user: to be</s><s>assistant: or</s>assistant: "
  )


@pytest.mark.parametrize("template, words", [
    (TEMPLATE, "no tools here"),
    ("{% for %}", "chat template fails"),
    ("{{ messages.__class__.mro() }}", "chat template fails"),
    (None, "no chat template"),
])
def test_template_that_cannot_be_used_is_one_line(template, words):
  own = Tokenizer(core(), chat_template=template, markers=MARKERS)
  with pytest.raises(config.ConfigError, match=words) as error:
    own.chat([{"role": "tool", "content": ""}])
  assert len(error.value.errors) == 1


def test_end_tokens_are_looked_for_in_three_places(folder):
  (folder / "generation_config.json").unlink()
  assert load_tokenizer(folder).eos_ids == (1,)
  _write(folder / "config.json", {"eos_token_id": 2})
  assert load_tokenizer(folder).eos_ids == (2,)
  _write(folder / "generation_config.json", {"eos_token_id": [2, 3]})
  assert load_tokenizer(folder).eos_ids == (2, 3)
  assert end_ids_of(folder) == (2, 3)
  (folder / "tokenizer.json").unlink()
  assert end_ids_of(folder) == (2, 3)
  (folder / "generation_config.json").unlink()
  assert end_ids_of(folder) == (2,)
  (folder / "config.json").unlink()
  assert end_ids_of(folder) == ()


def test_forms_of_markers_and_templates(folder):
  _write(folder / "tokenizer_config.json", {
      "bos_token": {"content": "<s>", "lstrip": False}, "pad_token": None,
      "chat_template": [
          {"name": "rag", "template": "no"},
          {"name": "default", "template": "one {{ bos_token }}"},
      ],
  })
  assert load_tokenizer(folder).chat([]) == "one <s>"
  (folder / "chat_template.jinja").write_text("two {{ bos_token }}")
  assert load_tokenizer(folder).chat([]) == "two <s>"


def test_missing_or_broken_files_are_one_line(folder):
  def refused(words):
    with pytest.raises(config.ConfigError, match=words) as error:
      load_tokenizer(folder)
    assert len(error.value.errors) == 1

  (folder / "tokenizer_config.json").write_text("{")
  refused("is no JSON")
  (folder / "tokenizer.json").write_text("{}")
  refused("is no tokenizer")
  (folder / "tokenizer.json").unlink()
  refused("has no tokenizer.json")
