"""Weights made into an Orbax checkpoint, and restored onto every mesh."""

import json

import jax
import numpy as np
import pytest
from flax import nnx

from pdjax import config
from pdjax import mesh as meshes
from pdjax.models import (
    checkpoint,
    convert,
    hf_folder,
    orbax_folder,
    orbax_store,
    presets,
    sizes,
    spec_json,
    weights,
)
from pdjax.models.tokenizer import (
    Tokenizer,
    end_ids_of,
    has_tokenizer,
    load_tokenizer,
)
from tests.models.hf_files import tensors, write_folder, write_safetensors
from tests.models.test_tokenizer import core


@pytest.fixture(autouse=True)
def _afresh():
  hf_folder.opened.cache_clear()
  orbax_folder.opened.cache_clear()


@pytest.fixture(name="source", scope="module")
def _source(tmp_path_factory):
  folder = tmp_path_factory.mktemp("hf") / "qwen3-tiny"
  write_folder(folder, shards=2)
  Tokenizer(core(), eos_ids=(1,), chat_template="hi").save(folder)
  return folder


@pytest.fixture(name="converted", scope="module")
def _converted(source, tmp_path_factory):
  folder = tmp_path_factory.mktemp("orbax") / "made" / "qwen3-tiny"
  assert convert.main([str(source), str(folder), "--dtype=float32"]) == 0
  return folder


def _leaves(path, tp, dtype="float32"):
  model = config.Model(preset="from_weights", weights=str(path), dtype=dtype)
  mesh = meshes.make_mesh(jax.devices(), tp)
  loaded = weights.load(model, sizes.spec_of(model), mesh)
  return jax.tree.leaves(nnx.split(loaded)[1])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("tp", [1, 2, 4])
def test_restored_on_any_mesh_bit_for_bit(tp, dtype, source, converted):
  """At tp=4 each of the two kv heads is there twice."""
  pairs = zip(
      _leaves(source, tp, dtype), _leaves(converted, tp, dtype), strict=True
  )
  for read, restored in pairs:
    assert read.sharding == restored.sharding and read.dtype == restored.dtype
    assert np.asarray(read).tobytes() == np.asarray(restored).tobytes()


def test_sizes_and_tokenizer_come_along(source, converted):
  assert not checkpoint.opened(converted).spec.differences(
      checkpoint.opened(source).spec
  )
  loaded = load_tokenizer(converted)
  assert (loaded.eos_ids, loaded.chat_template) == ((1,), "hi")
  assert loaded.encode("to be") == load_tokenizer(source).encode("to be")


def test_end_tokens_come_along_without_a_tokenizer(tmp_path):
  source, target = tmp_path / "hf", tmp_path / "made"
  write_folder(source)
  (source / "generation_config.json").write_text('{"eos_token_id": [3, 4]}')
  assert convert.main([str(source), str(target)]) == 0
  assert end_ids_of(target) == (3, 4) and not has_tokenizer(target)


@pytest.mark.parametrize("name", sorted(presets.PRESETS))
def test_sizes_survive_as_json(name):
  spec = presets.preset(name)
  text = json.dumps(spec_json.plain(spec))
  assert spec_json.parsed(json.loads(text)) == spec


def _refused(capsys, *arguments):
  assert convert.main([str(one) for one in arguments]) == 2
  told = capsys.readouterr()
  assert told.err.count("\n") == 1 and not told.out
  return told.err


def test_refusals_are_one_line_and_write_nothing(
    source, converted, tmp_path, capsys
):
  target = tmp_path / "x"
  told = _refused(capsys, source, converted)
  assert "is there already; name a new folder, or remove it first" in told
  assert "no such file" in _refused(capsys, tmp_path / "none", target)
  assert "been converted already" in _refused(capsys, converted, target)
  write_folder(tmp_path / "hf")
  raw = (tmp_path / "hf" / "model.safetensors").read_bytes()
  (tmp_path / "hf" / "model.safetensors").write_bytes(raw[:-1])
  assert "is no whole safetensors" in _refused(capsys, tmp_path / "hf", target)
  (tmp_path / "file").write_text("")
  assert "cannot write" in _refused(capsys, source, tmp_path / "file" / "y")
  inside = source / "deep" / "x"
  assert f"is within {str(source)!r}" in _refused(capsys, source, inside)
  assert not inside.parent.exists()
  assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "hf"]


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_weights_that_are_not_finite_are_refused(wrong, tmp_path, capsys):
  arrays = write_folder(tmp_path / "hf")
  arrays["model.norm.weight"][3] = wrong
  arrays["model.layers.1.self_attn.q_proj.weight"][2, 1] = wrong
  write_safetensors(tmp_path / "hf" / "model.safetensors", arrays)
  line = _refused(capsys, tmp_path / "hf", tmp_path / "new" / "deep" / "x")
  assert "has weights that are not finite as bfloat16: " in line
  assert line.endswith(": norm, q\n")
  assert [path.name for path in tmp_path.iterdir()] == ["hf"]


@pytest.mark.parametrize("arguments", [("", "out"), ("hf", "")])
def test_an_empty_path_is_no_path(arguments, capsys):
  assert "is empty; name a folder or file" in _refused(capsys, *arguments)


def test_says_what_was_written(source, tmp_path, capsys):
  """bfloat16 if nothing is said, as the help has it."""
  assert convert.main([str(source), str(tmp_path / "x")]) == 0
  count = sum(array.size for array in tensors().values())
  said = f"'{tmp_path / 'x'}': bfloat16, {count:,} parameters, "
  out = capsys.readouterr().out
  assert out.startswith(said) and out.endswith(" MB on disk\n")
  with pytest.raises(SystemExit):
    convert.main(["--help"])
  assert "(default: bfloat16)" in capsys.readouterr().out


def test_failure_leaves_nothing_half_written(source, tmp_path, monkeypatch):
  def full(path, arrays):
    path.mkdir()
    raise OSError("no space left on device")

  monkeypatch.setattr(orbax_store, "save", full)
  with pytest.raises(OSError, match="no space"):
    convert.convert(source, tmp_path / "x")
  assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("wrong", [
    {"num_kv_heads": 0}, {"vocab_size": -1}, {"norm_eps": float("nan")},
])
def test_sizes_out_of_range_are_no_model(wrong):
  plain = spec_json.plain(presets.preset("tiny"))
  with pytest.raises(ValueError, match=f"has {next(iter(wrong))} "):
    spec_json.parsed({**plain, **wrong})


def _biggest(folder):
  files = (folder / orbax_folder.WEIGHTS).rglob("*")
  return max(files, key=lambda path: path.stat().st_size)


def _cut(folder):
  path = _biggest(folder)
  path.write_bytes(path.read_bytes()[:-1])


def _lose(folder):
  _biggest(folder).unlink()


def _describe(**more):
  def change(folder):
    path = folder / orbax_folder.DESCRIPTION
    path.write_text(json.dumps({**json.loads(path.read_text()), **more}))

  return change


@pytest.mark.parametrize("damage, words", [
    (_cut, "has .* of .* bytes; convert the weights again"),
    (_lose, "is missing; convert the weights again"),
    (_describe(format=0), "is of format 0"),
    (_describe(spec={}), "is damaged"),
    (_describe(files=None), "is damaged"),
])
def test_damage_is_found_before_anything_is_read(
    damage, words, source, tmp_path
):
  convert.convert(source, tmp_path / "x")
  damage(tmp_path / "x")
  with pytest.raises(config.ConfigError, match=words) as error:
    checkpoint.check(
        config.Model(preset="from_weights", weights=str(tmp_path / "x"))
    )
  assert len(error.value.errors) == 1


def test_bytes_that_changed_are_one_line(source, tmp_path):
  """Of the right size, but not what was written."""
  convert.convert(source, tmp_path / "x")
  path = _biggest(tmp_path / "x")
  path.write_bytes(bytes(path.stat().st_size))
  with pytest.raises(config.ConfigError, match="is damaged") as error:
    _leaves(tmp_path / "x", 1)
  assert len(error.value.errors) == 1


def test_another_model_is_told(converted):
  with pytest.raises(config.ConfigError, match="has num_heads 4"):
    checkpoint.check(config.Model(preset="small", weights=str(converted)))
