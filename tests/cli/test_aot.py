"""`python -m pdjax.preflight`: flags, mistakes, exit status."""

import json

import pytest

from pdjax.aot import launch, target
from pdjax.aot.compile import Compiled
from pdjax.cli import aot

CHAT = ("--config=tpu_chat", "--config.workload.num_requests=4")


@pytest.fixture(autouse=True)
def compiler_is_there(monkeypatch):
  monkeypatch.setattr(target, "missing_compiler", lambda target: None)


def answers(monkeypatch, **program):
  def compiled(job, target, timeout_s):
    for shape in job.shapes:
      yield Compiled(
          shape=str(shape), kind=shape.kind, seconds=1.0,
          **{"pool_bytes": 10**9, "argument_bytes": 2 * 10**9} | program,
      )

  monkeypatch.setattr(launch, "compiled", compiled)


def test_what_fits_exits_0(monkeypatch, capsys, tmp_path):
  answers(monkeypatch)
  output = tmp_path / "found.json"
  status = aot.main([*CHAT, "--target=v5e:2x2", f"--json={output}"])
  out = capsys.readouterr().out
  assert status == 0
  assert "compiled, not executed" in out
  assert "pages of KV" in out
  found = json.loads(output.read_text())
  assert {one["target"] for one in found} == {"v5e:2x2"}
  assert all(worker["verdict"] for one in found for worker in one["workers"])


def test_what_does_not_fit_exits_1(monkeypatch, capsys):
  answers(monkeypatch, temp_bytes=10**12)
  assert aot.main([*CHAT, "--target=v5e:2x2"]) == 1
  assert "DOES NOT FIT" in capsys.readouterr().out


def test_a_pool_that_was_tried_too_large_is_said_so(monkeypatch, capsys):
  """Two hundredths of 17.18 GB more than the device gives."""
  answers(
      monkeypatch, pool_bytes=10 * 10**9, argument_bytes=15_800_000_000
  )
  assert aot.main([*CHAT, "--target=v5e:2x2"]) == 0
  assert "fits with fewer pages than were tried" in capsys.readouterr().out


def test_an_open_pool_is_tried_smaller(monkeypatch, capsys):
  answers(monkeypatch, refused="RESOURCE_EXHAUSTED: of 17 GB")
  assert aot.main([*CHAT, "--target=v5e:2x2"]) == 1
  out = capsys.readouterr().out
  assert "again with a pool of" in out
  assert "no program compiled" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*CHAT, "--target=v5x:2x2"), "no such target"),
        (CHAT, "--target: say which"),
        (("--target=v5e:2x2",), "--config: say which"),
        ((*CHAT, "--target="), "--target: needs a value"),
        ((*CHAT, "--target=v5e:2x2", "--timeout_s=0"), "--timeout_s=0"),
        ((*CHAT, "--target=v5e:2x2", "--json=/no/x"), "--json=/no/x"),
        ((*CHAT, "--target=v5e:2x2", "--config.cluster.tp=8"), "need 8"),
        ((*CHAT, "--target=v5e:2x2", "--config.cluster.tq=8"), "cluster.tq"),
        (("--config=nope", "--target=v5e:2x2"), "no such file"),
    ],
)
def test_mistakes_are_a_line_each(arguments, says, capsys):
  assert aot.main(arguments) == 2
  captured = capsys.readouterr()
  assert says in captured.err
  assert "Traceback" not in captured.err
