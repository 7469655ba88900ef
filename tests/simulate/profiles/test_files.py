"""Runs priced by a published profile: what is said, and what is refused."""

import dataclasses
import json

import pytest

from pdjax.config import Backend, ConfigError
from pdjax.simulate.cluster import cluster_of
from tests.simulate.profiles.test_distserve import PROFILE
from tests.simulate.serving import make_run, request, simulate


@pytest.fixture(name="path")
def _path(tmp_path):
  path = tmp_path / "lines.json"
  path.write_text(json.dumps(PROFILE))
  return path


def run_with(path, kind="continuous", chunk_size=None, **cluster):
  return make_run(
      kind, cluster={"tp": 2, **cluster}, model="llama-2-7b",
      strategy={"chunk_size": chunk_size}, backend=Backend(costs=str(path)),
  )


def test_steps_are_the_profiles(path):
  log, cluster, _ = simulate(run_with(path), [request(0, 20, 1)])
  (at_ps, _), = [e for e in log if type(e[1]).__name__ == "StepEnded"]
  assert at_ps == round((10 + 10 + 0.4) * 10**9)
  (told,) = cluster.provenance
  assert told["profile"].startswith("lines.json sha256 ")
  assert (told["steps_measured"], told["steps_extrapolated"]) == (1, 0)
  assert cluster.extrapolated_step_share == 0


def test_its_prices_cannot_be_drawn(path):
  run = run_with(path)
  backend = dataclasses.replace(run.backend, draw=1)
  with pytest.raises(ConfigError, match="backend.draw: .*published profile"):
    cluster_of(dataclasses.replace(run, backend=backend))


def test_chunks_beside_decodes_are_told(path):
  requests = [request(0, 20, 30), request(1, 60, 5, arrival_ps=10**9)]
  run = run_with(path, "chunked", 64)
  _, cluster, _ = simulate(run, requests)
  assert 0 < cluster.extrapolated_step_share < 1


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"chip": "h100-sxm"}, "it is of a100-80gb-sxm, not of 'h100-sxm'"),
        ({"tp": 1}, "no llama-2-7b tp 1 in it; it has llama-2-7b tp 2"),
        ({"pp": 2}, "it knows tensor parallelism alone, not tp 2, pp 2"),
    ],
)
def test_other_conditions_are_refused(path, change, reason):
  with pytest.raises(ConfigError) as refused:
    cluster_of(run_with(path, **change))
  (line,) = refused.value.errors
  assert line == f"backend.costs: {path}: {reason}"


def test_a_misspelt_name_is_no_file():
  with pytest.raises(ConfigError, match="no such file.*mean 'fitted'"):
    cluster_of(run_with("fited"))


@pytest.mark.parametrize(
    "text, reason",
    [
        (None, "no such file"),
        ("{", "nor a profile of DistServe"),
        ('{"a": 3}', "nor a profile of DistServe"),
        ("{}", "nor a profile of DistServe"),
        ('{"a": {}}', "nor a profile of DistServe"),
        ("a,b\n1,2\n", "nor a profile of DistServe"),
        ("", "nor a profile of DistServe"),
    ],
)
def test_other_files_are_refused(tmp_path, text, reason):
  path = tmp_path / "other"
  if text is not None:
    path.write_text(text)
  with pytest.raises(ConfigError, match=reason):
    cluster_of(run_with(path))


def test_what_is_far_too_large_is_not_read(tmp_path):
  path = tmp_path / "trace.json"
  with path.open("wb") as file:
    file.truncate(10**12)
  with pytest.raises(ConfigError, match="has 953674 MiB, more than the 64 MiB"):
    cluster_of(run_with(path))


def test_what_cannot_be_read_after_all_is_one_line():
  """A plain file of no bytes that is read nowhere."""
  with pytest.raises(ConfigError, match="^backend.costs: /proc/self/mem: "):
    cluster_of(run_with("/proc/self/mem"))
