"""`python -m pdjax.generate`: what it says, and what it refuses."""

import io
import os
import subprocess
import sys

import numpy as np
import pytest

from pdjax.cli import generate_flags, questions
from pdjax.cli.generate import main
from tests.models.hf_files import write_folder, write_safetensors

TINY = """
def get_config():
  return {
      "backend": {"kind": "jax"},
      "model": {"preset": "tiny", "dtype": "float32"},
      "cluster": {"split": "1C", "host_devices": 2, "kv_tokens": 512},
      "engine": {"max_programs": 5},
      "workload": {"kind": "azure"},
      "sweep": {"grid": {"strategy.max_num_seqs": (1, 2)}},
  }
"""
CONTINUOUS = ("--config.engine.max_programs=2",)
CHUNKED = (
    "--config.strategy.kind=chunked", "--config.strategy.chunk_size=4",
    "--config.engine.max_programs=3",
)
SPLIT = (
    "--config.strategy.kind=disaggregated", "--config.cluster.split=1P1D",
)


@pytest.fixture(name="tiny")
def _tiny(tmp_path):
  file = tmp_path / "tiny.py"
  file.write_text(TINY)
  return f"--config={file}"


def refused(capsys, *arguments):
  """The lines of a mistake; nothing is answered."""
  assert main(arguments) == 2
  out, err = capsys.readouterr()
  assert out == ""
  return err.splitlines()


def test_the_same_ids_under_every_strategy(tiny, monkeypatch, capsys):
  """On the session's devices, so its environment stays as it is."""
  monkeypatch.setattr("pdjax.sweep.devices.environment", lambda run: {})
  said = set()
  for strategy in (CONTINUOUS, CHUNKED, SPLIT):
    arguments = (tiny, "--prompt=Hello", "--prompt=Hi there", "--max_tokens=7")
    assert main([*arguments, *strategy]) == 0
    out, err = capsys.readouterr()
    said.add(out)
    summary = err.splitlines()[-1]
    assert "14 tokens, TTFT" in summary and "(mean of 2)" in summary
    assert "device(s) sharing" in summary
  (text,) = said
  first, ids, second, more = text.splitlines()
  assert (first, second) == ("[1] Hello", "[2] Hi there")
  assert len(ids.split()) == len(more.split()) == 7
  assert all(0 <= int(id) < 256 for id in (ids + more).split())


def test_from_standard_input_in_a_process_of_its_own(tiny, tmp_path):
  done = subprocess.run(
      [sys.executable, "-m", "pdjax.generate", tiny, "--prompt=-",
       "--max_tokens=3", *CONTINUOUS],
      input="Hello", capture_output=True, text=True, check=True,
      env=os.environ | {"PDJAX_CACHE": str(tmp_path)},
  )
  assert len(done.stdout.split()) == 3
  lines = done.stderr.splitlines()
  assert lines[:2] == [
      "tiny: its sweep is left out",
      "random weights: the answers will be noise",
  ]
  assert "3 tokens, TTFT" in lines[-1] and "mean" not in lines[-1]


def test_an_interrupt_ends_it_with_its_own_status(tiny, monkeypatch, capsys):
  def interrupted(*arguments):
    raise KeyboardInterrupt

  monkeypatch.setattr("pdjax.cli.generate_run.run_of", interrupted)
  assert main([tiny, "--prompt=x"]) == 130
  assert "interrupted" in capsys.readouterr().err


def test_mistakes_are_told_together(capsys, tiny):
  lines = refused(
      capsys, tiny, "--promt=x", "--max_tokens=0",
      "--config.strategy.kind=chunkd", "--config.workload.rate=3",
  )
  assert lines[0] == "--promt: no such flag; did you mean '--prompt'?"
  assert lines[1] == "--max_tokens: must be from 1 to 1000000, got '0'"
  assert any("did you mean 'chunked'?" in line for line in lines)
  assert any(line.startswith("--config.workload.rate: gen") for line in lines)


def test_a_simulated_config_computes_no_tokens(capsys):
  lines = refused(capsys, "--config=llama70b_h100", "--prompt=x")
  (line,) = [line for line in lines if "left out" not in line]
  assert line.startswith("backend.kind: 'simulated' computes no tokens")


def test_a_config_with_blocks_is_not_one_run(capsys):
  (line,) = refused(capsys, "--config=quickstart", "--prompt=x")
  assert line.startswith("--config=quickstart: has blocks")


@pytest.mark.parametrize(("tokens", "limit"), [
    (100, "a worker's KV cache (cluster.kv_tokens)"),
    (600, "the 512 positions of tiny"),
])
def test_a_prompt_must_fit(capsys, tiny, tokens, limit):
  lines = refused(
      capsys, tiny, "--prompt=short", "--prompt=" + "x" * tokens,
      "--max_tokens=20", "--config.cluster.kv_tokens=112",
  )
  assert lines[-1:] == [
      f"--prompt: number 2 has {tokens} tokens, which with --max_tokens=20 are"
      f" more than {limit}"
  ]


@pytest.mark.parametrize(("argument", "line"), [
    ("--chat", "--chat: the weights come with no tokenizer"),
    ("--prompt_file=nowhere", "--prompt_file=nowhere: cannot be read"),
    ("--prompt_file=/dev/null", "--prompt_file=/dev/null: has no text"),
])
def test_prompts_that_cannot_be_read(capsys, tiny, argument, line):
  lines = refused(capsys, tiny, "--prompt=x", argument)
  assert lines[-1].startswith(line)


def test_something_must_be_asked(capsys, tiny):
  assert refused(capsys, tiny)[-1].startswith("--prompt: say what to answer")
  (line,) = refused(capsys)
  assert line.startswith("--config: say which")


def test_help_loads_no_library():
  code = (
      "import sys; from pdjax.cli.generate import main;"
      "assert main(['--help']) == 0;"
      "heavy = {'jax', 'numpy', 'pyarrow', 'tokenizers', 'ml_collections'};"
      "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules)"
      " else 0)"
  )
  done = subprocess.run([sys.executable, "-c", code], capture_output=True)
  assert done.returncode == 0, done.stderr


def test_a_model_that_computes_no_numbers_fails(
    tiny, tmp_path, monkeypatch, capsys
):
  monkeypatch.setattr("pdjax.sweep.devices.environment", lambda run: {})
  arrays = write_folder(tmp_path / "hf")
  arrays["model.norm.weight"][3] = np.nan
  write_safetensors(tmp_path / "hf" / "model.safetensors", arrays)
  status = main([
      tiny, "--prompt=Hello", "--max_tokens=3", *CONTINUOUS,
      "--config.model.preset=from_weights",
      "--config.workload.stop=forced_length",
      f"--config.model.weights={tmp_path / 'hf'}",
  ])
  assert status == 1
  last = capsys.readouterr().err.splitlines()[-1]
  assert last.startswith("not a number in the logits of 3 of 3 tokens")


@pytest.mark.parametrize("value", ["-", "x\udcff"])
def test_a_prompt_that_is_no_utf8(capsys, tiny, monkeypatch, value):
  stream = io.TextIOWrapper(io.BytesIO(b"x\xff"), encoding="utf-8")
  monkeypatch.setattr("sys.stdin", stream)
  (line,) = [
      line for line in refused(capsys, tiny, f"--prompt={value}")
      if "left out" not in line
  ]
  assert line.startswith("--prompt=") and "cannot be read" in line
  assert "byte 0xff in position 1" in line


def test_undecoded_standard_input_and_none(capsys, tiny, monkeypatch):
  """As where the locale is ASCII, and where the input is closed."""
  stream = io.TextIOWrapper(
      io.BytesIO("é".encode()), "ascii", errors="surrogateescape"
  )
  monkeypatch.setattr("sys.stdin", stream)
  asked, _ = generate_flags.parse(["--prompt=-"])
  assert questions.texts_of(asked) == ["é"]
  monkeypatch.setattr("sys.stdin", None)
  assert "--prompt=-: has no text" in refused(capsys, tiny, "--prompt=-")


def test_more_tokens_than_the_model_has_positions(capsys, tiny):
  lines = refused(capsys, tiny, "--prompt=x", "--max_tokens=1000000")
  assert lines[-1] == (
      "--prompt: number 1 has 1 tokens, which with --max_tokens=1000000 are"
      " more than the 512 positions of tiny"
  )
  assert not any("workload" in line for line in lines)


@pytest.mark.parametrize(("repeated", "line"), [
    (("--max_tokens=2", "--max_tokens=3"), "--max_tokens: given twice"),
    (("--max_tokens=128", "--max_tokens=128"), "--max_tokens: given twice"),
    (("--config=x",), "--config: given twice"),
    (("--chat", "--nochat"), "--chat: given with --nochat"),
    (("--config.engine.max_programs=2",) * 2, "--config.engine.max_programs"),
])
def test_flags_that_may_stand_once(capsys, tiny, repeated, line):
  lines = refused(capsys, tiny, "--prompt=x", "--prompt=y", *repeated)
  assert sum(told.startswith(line) for told in lines) == 1
