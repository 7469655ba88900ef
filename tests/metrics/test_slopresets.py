"""Published SLOs: terms that exist, as their sources state them."""

import pytest

from pdjax.config import RELATIVE_SLOS, SLO
from pdjax.metrics.requests import request_table
from pdjax.metrics.slo import judge, problems, terms_of
from pdjax.metrics.slopresets import PRESETS
from tests.metrics.scripted import simulated

UNLOADED_S = {"ttft": 0.1, "tpot": 0.02, "e2el": 2.0}
PLAIN = [name for name in PRESETS if name not in RELATIVE_SLOS]


@pytest.mark.parametrize("name", PLAIN)
def test_every_preset_is_made_of_terms_that_exist(name):
  assert problems(SLO(preset=name)) == []
  assert problems(SLO(terms=PRESETS[name].terms)) == []
  assert len(terms_of(SLO(preset=name))) == 2 and PRESETS[name].source


def test_figures_of_the_sources():
  assert [str(term) for term in terms_of(SLO(preset="mlperf-llama2-70b"))] == [
      "p99 ttft <= 2 s", "p99 tpot <= 0.2 s",
  ]
  joint = SLO(preset="distserve-13b-sharegpt", ttft_s=9.0)
  assert [str(term) for term in terms_of(joint)] == [
      "ttft <= 9 s", "ttft <= 0.25 s", "tpot <= 0.1 s",
  ]


def test_a_preset_judges_as_its_terms_do():
  _, log, _, _ = simulated("1C", "continuous", num_requests=300, rate=5.0)
  table = request_table(log)
  for name in (
      "sarathi-yi-34b-strict", "mooncake-100ms", "mlperf-mixtral-8x7b"
  ):
    by_name = judge(table, SLO(preset=name))
    by_terms = judge(table, SLO(terms=PRESETS[name].terms))
    assert by_name.met is by_terms.met is True
    assert by_name.outcomes == by_terms.outcomes


def test_slowdowns_become_limits():
  slo = SLO(preset="splitwise", unloaded_s=UNLOADED_S)
  terms = [str(term) for term in terms_of(slo)]
  assert "p99 ttft <= 0.6 s" in terms and "p50 tpot <= 0.025 s" in terms
  assert len(terms) == 9 and problems(slo) == []
  assert [n for n in PRESETS if PRESETS[n].slowdowns] == list(RELATIVE_SLOS)
  own = SLO(
      slowdowns=(("ttft", "value", "request", 5.0),), unloaded_s={"ttft": 0.1}
  )
  assert [str(term) for term in terms_of(own)] == ["ttft <= 0.5 s"]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"preset": "splitwise", "unloaded_s": {"ttft": 0.1}},
         "slo.unloaded_s: needs tpot, e2el"),
        ({"slowdowns": (("tfft", "p50", "run", 2.0),)},
         "slo.slowdowns[0]: no run metric 'tfft'"),
        ({"unloaded_s": {"tfft": 1.0}}, "slo.unloaded_s: no metric 'tfft'"),
        ({"unloaded_s": {"ttft": 1.0}},
         "slo.unloaded_s.ttft: no slowdown is relative to it"),
    ],
)
def test_what_is_wrong_with_slowdowns(said, line):
  assert problems(SLO(**said))[0].startswith(line)


def test_an_unknown_name_is_one_line():
  (line,) = problems(SLO(preset="mooncake-100"))
  assert "no preset 'mooncake-100'" in line
  assert "did you mean 'mooncake-100ms'" in line
