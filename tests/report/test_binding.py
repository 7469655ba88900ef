"""What binds a split is what its SLO misses, not who is busier."""

import dataclasses

import pytest

from pdjax import config
from pdjax.diagnose.finding import PHASES, TITLES
from pdjax.diagnose.ours import diagnose
from pdjax.metrics.conditions import conditions
from pdjax.report import split
from pdjax.report.binding import binding, words
from pdjax.report.capacity import goodput_of
from pdjax.report.record import Record
from pdjax.report.study import studies_of
from tests.diagnose.made import simulated


@pytest.fixture(scope="module", name="records")
def _records(tmp_path_factory):
  """The same load on three splits: prompts of 1500, answers of 200."""
  return [_record(each, tmp_path_factory) for each in ("1P3D", "2P2D")]


def _record(cluster_split, folders):
  run, summary = simulated(
      cluster_split, "disaggregated", 30.0, 1500, 200, num_requests=200,
      slo=config.SLO(ttft_s=0.2, tpot_s=0.05),
  )
  contract = {"arrival": "poisson", "rate_per_s": 30.0}
  return Record(
      label=cluster_split, folder=folders.mktemp(cluster_split), asked=run,
      summary=summary, conditions=conditions(run, contract),
      config={
          "workload": {"rate": 30.0, "seed": 0},
          "strategy": {"kind": "disaggregated"},
          "cluster": {"split": cluster_split},
      },
  )


def test_a_split_whose_prompts_queue_is_bound_by_prefill(records):
  first = records[0].summary
  assert first["compute_share[D]"] > first["compute_share[P]"]
  (study,) = studies_of(records)
  one, two = map(binding, study.designs)
  assert one.phase == "prefill" and "prefill_queue" in one.because
  assert two.phase == ""
  found = [goodput_of(study, design) for design in study.designs]
  note, busy = split.chart(study, found).notes
  assert "1P3D: prefill (prefill_queue: the SLO is missed until" in note
  assert "2P2D keeps the SLO, so nothing does" in note
  assert "no measure of what binds" in busy


def test_report_and_diagnosis_say_the_same(records):
  (study,) = studies_of(records)
  for design in study.designs:
    if (one := binding(design)).phase:
      verdict = diagnose("", design.runs[0].summary, 0.0).verdict
      assert one.phase == PHASES[verdict] and verdict in one.because
  assert PHASES.keys() == TITLES.keys()


def test_seeds_that_miss_it_are_asked(records):
  """One of three seeds keeps it: the others say what binds."""
  missed, kept = records
  runs = [
      dataclasses.replace(
          missed, label="1P3D",
          summary=run.summary | {"slo_attainment": share},
          config={**missed.config, "workload": {"rate": 30.0, "seed": seed}},
      )
      for seed, (run, share) in enumerate(
          [(kept, 1.0), (missed, 0.4), (missed, 0.4)]
      )
  ]
  (study,) = studies_of(runs)
  (design,) = study.designs
  assert binding(design).phase == "prefill"
  assert list(words([("x", binding(design))]))[0].startswith("x: prefill (")
