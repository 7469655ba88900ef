"""Runs of ours: the bottleneck that was built in is the one that is named."""

import re

import pytest

from pdjax.diagnose.advice import ADVICE, advice
from pdjax.diagnose.finding import TITLES
from pdjax.diagnose.ours import diagnose, shares_of
from pdjax.digits import plain
from tests.diagnose.made import CASES, served


def mean_lag_ms(table):
  return float(table["lag_ns"].mean()) / 1e6


def finding(verdict, late=False):
  table, summary = served(verdict, late)
  return diagnose(verdict, summary, mean_lag_ms(table))


@pytest.mark.parametrize("case", CASES)
def test_the_true_bottleneck_is_named(case):
  found = finding(case)
  assert found.verdict == case.partition(",")[0], found.lines()
  assert found.evidence and found.advice


@pytest.mark.parametrize(
    ("case", "words"),
    [("transfer", "a link is busy "),
     ("transfer, layer by layer", "a link is busy at most ")],
)
def test_what_only_bounds_a_figure_is_marked(case, words):
  _, summary = served(case)
  found = finding(case)
  share = f"{summary['link_busy_share']:.0%}"
  assert any(words + share in line for line in found.evidence)
  bounds = [n for n in summary["notes"] if n.startswith("bounds")]
  assert bounds == ([] if "layer" not in case else [
      "bounds, as pages leave layer by layer: hidden transfer"
      f" <= {plain(summary['mean_hidden_transfer_ms'])} ms, exposed share"
      f" >= {summary['exposed_transfer_share']:.1%}, a link busy"
      f" <= {summary['link_busy_share']:.1%}"
  ])


@pytest.mark.parametrize("other", ["decode_bandwidth", "transfer"])
def test_a_late_generator_comes_first(other):
  found = finding(other, late=True)
  assert found.verdict == "generator", found.lines()
  assert "before the request reaches the scheduler" in found.evidence[0]


@pytest.mark.parametrize(
    ("verdict", "late"),
    [*((verdict, False) for verdict in CASES), ("transfer", True)],
)
def test_parts_are_all_of_the_time(verdict, late):
  table, summary = served(verdict, late)
  shares = shares_of(summary, mean_lag_ms(table))
  assert shares.total == pytest.approx(summary["mean_e2el_ms"], rel=1e-9)
  assert all(v >= 0 for v in (*shares.first.values(), *shares.later.values()))
  where_ms = finding(verdict, late).where_ms
  assert sum(where_ms.values()) == pytest.approx(shares.total)


@pytest.mark.parametrize(
    ("ttft", "tpot", "verdict"),
    [(1.0, 1.0, "prefill_queue"), (0.5, 1.0, "prefill_queue"),
     (1.0, 0.5, "interference")],
)
def test_an_slo_decides_which_side_counts(ttft, tpot, verdict):
  """Queueing costs more than interference; where only the time per token is
  missed, interference is what matters."""
  _, summary = served("interference")
  waits = {
      "mean_p_queue_ms": 0.4 * summary["mean_decode_ms"],
      "mean_interference_ms": 0.3 * summary["mean_decode_ms"],
      "slo_share[ttft <= 1]": ttft, "slo_share[tpot <= 1]": tpot,
  }
  assert diagnose("x", summary | waits, 0.0).verdict == verdict


def test_a_met_slo_is_told():
  _, summary = served("prefill")
  met, missed = (
      diagnose("x", summary | {"slo_met": met}, 0.0) for met in (True, False)
  )
  assert met.evidence[0].startswith("the SLO is met")
  assert met.evidence[1:] == missed.evidence[1:]


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"slo_share[ttft <= 1 s]": 0.5}, "ttft <= 1 s is kept by 50.0%"),
        ({"slo_share[ttft <= 1 s]": 0.92, "slo_share[tpot <= 1 s]": 0.3},
         "tpot <= 1 s is kept by 30.0%"),
        ({"slo_holds[p99 ttft <= 1 s]": False,
          "slo_value_s[p99 ttft <= 1 s]": 2.5},
         "p99 ttft <= 1 s, but it is 2.5 s"),
        ({"slo_share[ttft <= 1 s]": 0.92, "slo_share[tpot <= 1 s]": 0.91,
          "slo_attainment": 0.85}, "85.0% of the requests keep all of it"),
    ],
)
def test_a_missed_slo_names_the_terms(told, words):
  _, summary = served("prefill")
  told = {"slo_met": False, "slo.attainment": 0.9} | told
  first = diagnose("x", summary | told, 0.0).evidence[0]
  assert first == (
      f"the SLO is missed, 0.9 of the requests are to keep it: {words}"
  )


@pytest.mark.parametrize(
    ("kind", "chunk", "words", "count"),
    [
        ("continuous", None, "strategy.kind='chunked'", 2),
        ("chunked", 2048, "A smaller chunk_size", 2),
        ("chunked", 512, "strategy.kind='disaggregated'", 1),
        ("disaggregated", 512, "", 0),
    ],
)
def test_no_advice_to_do_what_is_done(kind, chunk, words, count):
  config = {"strategy.kind": kind, "strategy.chunk_size": chunk}
  lines = advice("interference", config)
  assert len(lines) == count and (not lines or words in lines[0])
  if kind != "continuous":
    assert "'chunked'" not in " ".join(lines)
  assert len(advice("interference")) == 3  # A client's file has no config.


def test_advice_stands_by_itself():
  """Whatever a config leaves out before it, none goes on from another."""
  for verdict in TITLES:
    for line in advice(verdict):
      assert line.partition(" ")[0] not in ("Or", "And", "Also"), line


def test_a_verdict_is_said_once():
  for verdict, title in TITLES.items():
    assert title != verdict.replace("_", " ")


def test_long_times_are_told_without_an_exponent():
  _, summary = served("transfer")
  long = {
      name: 1000 * value for name, value in summary.items()
      if name.startswith("mean_") and name.endswith("_ms") and value
  }
  found = diagnose("x", summary | long, 0.0)
  assert found.verdict == "transfer"
  assert "ms" in found.evidence[0]
  assert not re.search(r"\de[+-]?\d", " ".join(found.evidence))


def test_a_run_takes_the_advice_of_its_config():
  _, summary = served("decode_bandwidth")
  small = {"model.weight_dtype": "fp8", "model.kv_dtype": "fp8"}
  before, done = (
      " ".join(diagnose("x", summary | each, 0.0).advice)
      for each in ({}, small)
  )
  assert "8 bits" in before and "8 bits" not in done
  assert "prefix" in advice("prefill", {})[1]
  assert len(advice("prefill", {"strategy.prefix_cache": True})) == 1


def test_without_peaks_bandwidth_is_not_guessed():
  _, summary = served("decode_bandwidth")
  unknown = {
      name: None for name in summary if name.startswith(("mbu", "compute_busy"))
  } | {"utilisation_unknown": "not known: peaks of 'cpu'"}
  found = diagnose("x", summary | unknown, 0.0)
  assert found.verdict == "cannot_tell"
  assert "not known: peaks of 'cpu'" in found.evidence


def test_steps_that_nothing_bounds_are_not_called_bound():
  _, summary = served("decode_bandwidth")
  slack = {"mbu[D decode]": 0.1, "compute_busy[D decode]": 0.05}
  found = diagnose("x", summary | slack, 0.0)
  assert found.verdict == "cannot_tell"
  assert "overhead" in found.evidence[1]


def test_nothing_finished_tells_nothing():
  _, summary = served("prefill")
  found = diagnose("x", summary | {"completed": 0}, 0.0)
  assert (found.verdict, found.evidence) == (
      "cannot_tell", ("no request finished",)
  )


def test_mfu_is_never_read_as_a_profilers_figure():
  """Whatever MFU says, the verdict stays: no rule looks at it."""
  for verdict in ("prefill_queue", "decode_bandwidth"):
    _, summary = served(verdict)
    for mfu in (0.01, 0.95):
      changed = {n: mfu for n in summary if n.startswith("mfu[")}
      assert changed
      assert diagnose("x", summary | changed, 0.0).verdict == verdict
  assert any("profiler" in note for note in finding("prefill").notes)


def test_every_verdict_has_words():
  assert set(TITLES) == set(ADVICE)


def test_what_is_missed_on_one_side_is_not_laid_on_the_other():
  """Prompts wait for a tenth of the time, within their limit; the time per
  token is missed with hardly a wait: decode steps are too long."""
  _, summary = served("decode_bandwidth")
  waits = {
      "mean_p_queue_ms": 0.2 * summary["mean_decode_ms"],
      "slo_share[ttft <= 1 s]": 1.0, "slo_share[tpot <= 0.01 s]": 0.5,
  }
  found = diagnose("x", summary | waits, 0.0)
  assert found.verdict == "decode_bandwidth", found.lines()
  assert "missed after the first token" in found.evidence[0]
  turned = waits | {
      "slo_share[ttft <= 1 s]": 0.5, "slo_share[tpot <= 0.01 s]": 1.0,
      "mean_prefill_ms": summary["mean_decode_ms"],
  }
  assert diagnose("x", summary | turned, 0.0).verdict == "prefill"


@pytest.mark.parametrize(
    ("term", "verdict"),
    [("p99 ttft <= 1 s", "prefill_queue"), ("p99 itl <= 1 s", "interference")],
)
def test_limits_on_the_whole_run_have_a_side_too(term, verdict):
  _, summary = served("interference")
  waits = {
      "mean_p_queue_ms": 0.4 * summary["mean_decode_ms"],
      "mean_interference_ms": 0.3 * summary["mean_decode_ms"],
      f"slo_holds[{term}]": False,
  }
  assert diagnose("x", summary | waits, 0.0).verdict == verdict
