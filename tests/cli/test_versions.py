"""Results of another version are refused, by every command that reads them."""

import json
import shutil
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import pdjax
from pdjax.cli import compare, diagnose, export, fidelity, replay, report
from pdjax.config import ConfigError
from pdjax.events import FORMAT_VERSION
from pdjax.results.written import AGAIN
from pdjax.sweep import runfiles
from tests.cli.served import experiment, run_of

READERS = {
    "compare": lambda x: compare.main([x]),
    "diagnose": lambda x: diagnose.main([x]),
    "export": lambda x: export.main([x, "--format=csv"]),
    "fidelity": lambda x: fidelity.main([x]),
    "load": lambda x: _load(x),
    "replay": lambda x: replay.main([x]),
    "report": lambda x: report.main([x, "--figures=none"]),
}


def _load(folder):
  try:
    pdjax.load(folder)
  except ConfigError as error:
    print("\n".join(error.errors), file=sys.stderr)
    return 2
  return 0


@pytest.fixture(scope="module")
def written(tmp_path_factory):
  runs = [run_of("2C"), run_of("1P1D")]
  return experiment(tmp_path_factory.mktemp("results") / "x", runs)


@pytest.fixture
def made(written, tmp_path, monkeypatch):
  """A copy of the experiment whose runs' files are changed as asked."""
  monkeypatch.chdir(tmp_path)

  def change(name, edit, count=2):
    shutil.copytree(written, "x")
    for run in sorted(Path("x/runs").iterdir())[:count]:
      told = json.loads((run / name).read_text())
      edit(told)
      (run / name).write_text(json.dumps(told))
      _list_again(run)
    return "x"

  return change


def _list_again(run):
  """As if the other version had written the files so."""
  status = json.loads((run / "status.json").read_text())
  status["files"] = runfiles.listed(run)
  (run / "status.json").write_text(json.dumps(status))


def _refused(capsys, reader, folder):
  """The one line that a reader says of it."""
  capsys.readouterr()
  assert READERS[reader](folder) == 2
  out, err = capsys.readouterr()
  assert out == "" and "Traceback" not in err
  return err.splitlines()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name, edit", [
    ("status.json", lambda told: told.update(made_by={"version": "0.0.9"})),
    ("provenance.json", lambda told: told["packages"].update(pdjax="0.0.9")),
])
def test_another_version_is_named(made, capsys, reader, name, edit):
  folder = made(name, edit)
  lines = _refused(capsys, reader, folder)
  each = reader == "replay"  # which tries them all
  assert len(lines) == (2 if each else 1)
  for line in lines:
    assert line.startswith("x") and AGAIN in line
    assert f"by pdjax 0.0.9, and this is {pdjax.__version__}" in line
  assert not Path("x/report.html").exists() and not Path("exports").exists()


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name, edit, words", [
    ("config.json", lambda told: told["strategy"].pop("router"),
     "config.json has no strategy.router"),
    ("config.json", lambda told: told["strategy"].update(routr="x"),
     "config.json: strategy.routr: "),
])
def test_another_config_is_told(made, capsys, reader, name, edit, words):
  if reader == "diagnose":
    pytest.skip("of an experiment: as pdjax.load")
  lines = _refused(capsys, reader, made(name, edit))
  assert all(words in line and AGAIN in line for line in lines)
  assert len(lines) == (2 if reader == "replay" else 1)


NOT_READ = ("fidelity", "replay")
"""They read config and log alone."""


@pytest.mark.parametrize("reader", [r for r in READERS if r not in NOT_READ])
@pytest.mark.parametrize("name, edit, words", [
    ("summary.json", lambda told: told.pop("kind"), "summary.json has no kind"),
    ("summary.json", lambda told: told.pop("p99_itl_ms"),
     "summary.json has no p99_itl_ms"),
    ("conditions.json", lambda told: told.pop("contract"),
     "conditions.json has no contract"),
    ("conditions.json", lambda told: told["contract"].pop("model"),
     "conditions.json has no contract.model"),
    ("conditions.json", lambda told: told["contract"].update(quantum=1),
     "conditions.json has an unknown contract.quantum"),
    ("conditions.json", lambda told: told["design"].pop("pools"),
     "conditions.json has no design.pools"),
])
def test_other_keys_are_told(made, capsys, reader, name, edit, words):
  (line,) = _refused(capsys, reader, made(name, edit))
  assert line.startswith("x: its 2 runs were written by another state of pdjax")
  assert words in line and AGAIN in line


@pytest.mark.parametrize("reader", READERS)
def test_another_format_of_events_is_told(written, tmp_path, capsys, reader):
  (run, *_) = sorted((Path(written) / "runs").iterdir())
  folder = tmp_path / run.name
  shutil.copytree(run, folder)
  path = folder / "events.parquet"
  table = pq.read_table(path)
  kept = {**table.schema.metadata, b"pdjax.events": b"3"}
  pq.write_table(table.replace_schema_metadata(kept), path)
  _list_again(folder)
  (line,) = _refused(capsys, reader, str(folder))
  words = f"is in format 3, and this pdjax reads {FORMAT_VERSION}"
  assert f"events.parquet {words}" in line and AGAIN in line
  assert f"pdjax {pdjax.__version__}: " in line


@pytest.mark.parametrize("reader", ["compare", "diagnose", "report"])
def test_what_is_of_this_version_is_told_beside(made, capsys, reader):
  def old(told):
    told["packages"]["pdjax"] = "0.0.9"

  folder = made("provenance.json", old, count=1)
  capsys.readouterr()
  status = READERS[reader](folder)
  out, err = capsys.readouterr()
  if reader == "compare":  # one design is left
    assert status == 2 and "one design only" in err
    return
  assert status == 0 and out
  (line,) = err.splitlines()
  assert line.startswith("! left out: x/runs/") and AGAIN in line


@pytest.mark.parametrize("name", ["2C", "1P1D"])
def test_a_run_alone_is_refused_alike(made, capsys, name):
  def old(told):
    told["packages"]["pdjax"] = "0.0.9"

  made("provenance.json", old)
  (run,) = Path("x/runs").glob(f"{name}*")
  for reader in READERS:
    (line,) = _refused(capsys, reader, str(run))
    assert line.startswith(f"{run}: written by pdjax 0.0.9") and AGAIN in line
