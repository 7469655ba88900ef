"""`--profile`: a JAX trace of real steps, under the timeline's own names."""

import pytest

from pdjax import schema, tracks
from pdjax.cli import cell, flags, profiled
from pdjax.cli.experiment import main
from pdjax.reads import resolved


def _run(**more):
  return resolved(schema.run_from_tree({
      "backend": {"kind": "jax"},
      "model": {"preset": "tiny", "dtype": "float32"},
      "cluster": {"split": "1P1D", "kv_tokens": 1024},
      "strategy": {"kind": "disaggregated", "max_num_seqs": 2},
      "workload": {
          "arrival": "all_at_once", "num_requests": 24,
          "prompt": {"mean": 20}, "output": {"mean": 6},
      },
      "engine": {"max_programs": 6, "verify_tokens": 0}, **more,
  }))


def _names(folder):
  from jax.profiler import ProfileData

  (file,) = (folder / profiled.FOLDER).rglob("*.xplane.pb")
  planes = ProfileData.from_file(str(file)).planes
  return {e.name for plane in planes for line in plane.lines
          for e in line.events}


def test_a_trace_has_the_timelines_names(tmp_path):
  run, said = _run(), []
  cell.profile_cell(run, tmp_path, said.append)
  assert "serving again for a JAX trace" in said
  for name in cell.files_of(run):
    assert (tmp_path / name).is_file()
  names = _names(tmp_path)
  workers = set(map(tracks.of_worker, tracks.worker_names(run)))
  assert workers == {"worker P0", "worker D1"}
  assert workers | {"prefill", "decode"} <= names
  assert {*tracks.STAGES, tracks.of_link("P0", "D1")} <= names


def test_it_is_refused_where_nothing_is_measured(capsys, tmp_path):
  config, results = tmp_path / "x.py", tmp_path / "results"
  config.write_text(
      'def get_config():\n  return {"cluster.chip": "h100-sxm",'
      ' "workload.rate": 1.0}\n'
  )
  status = main([f"--config={config}", "--profile", f"--output_dir={results}"])
  (line,) = capsys.readouterr().err.splitlines()
  assert status == 2 and not results.exists()
  assert line.startswith("--profile: 1 of 1 cells are simulated")


@pytest.mark.parametrize("asked, wanted", [
    ([], False), (["--profile"], True), (["--noprofile"], False),
])
def test_flag(asked, wanted):
  found, errors = flags.parse(asked)
  assert found.profile is wanted and not errors
