"""Tables say what they show, stay narrow, and never mix kinds."""

import dataclasses

import pytest

from pdjax import config
from pdjax.metrics.conditions import conditions
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from pdjax.report.groups import ReportedRun
from pdjax.report.heading import WIDTH
from pdjax.report.tables import comparison, latency_table
from pdjax.simulate.cluster import cluster_of
from tests.metrics.scripted import hand_made

RUN = config.Run(
    cluster=config.Cluster(split="1P1D1C", chip="h100-sxm"),
    slo=config.SLO(ttft_s=0.4),
)
WORKLOAD = {"kind": "synthetic", "arrival": "poisson", "rate_per_s": 4.0}


def _reported(label: str, kind: str = "simulated", **change) -> ReportedRun:
  backend = config.Backend(kind="jax" if kind == "measured" else "simulated")
  run = dataclasses.replace(RUN, backend=backend, **change)
  return ReportedRun(
      label=label,
      summary=summarize(request_table(hand_made()), run),
      conditions=conditions(run, WORKLOAD, notes=["devices share 2 cores"]),
  )


def test_first_line_says_kind_and_conditions():
  lines = comparison([_reported("a"), _reported("b")]).splitlines()
  assert lines[0].startswith("SIMULATED  llama-3-8b bfloat16; 3 x h100-sxm")
  heading = " ".join(" ".join(lines[:4]).split())
  for part in ("5 requests", "poisson 4/s", "ttft <= 0.4 s", "share 2 cores"):
    assert part in heading
  assert "NOT COMPARABLE" not in heading


def _heading(**contract) -> str:
  run = _reported("a")
  told = run.conditions | {"contract": run.conditions["contract"] | contract}
  text = comparison([dataclasses.replace(run, conditions=told)])
  return " ".join(text.partition("\n\n")[0].split())


def test_formats_that_are_not_the_models_are_in_the_heading():
  assert "llama-3-8b bfloat16;" in _heading(weight_dtype="bfloat16")
  assert "llama-3-8b bfloat16 (weights int4, products int8, KV fp8);" in (
      _heading(weight_dtype="int4", product_dtype="int8", kv_dtype="fp8")
  )


def test_what_prices_rest_on_is_in_the_heading():
  assert "prices" not in _heading()
  profile = f"published profile: fits.json sha256 {'0a' * 32}; draw 3 of them"
  assert "; prices published profile: fits.json; draw 3 of them;" in (
      _heading(cost_profile=profile)
  )


@pytest.mark.parametrize("backend, words", [
    ({}, "prices analytical: scalars assumed, uncalibrated, +-20 %"),
    ({"costs": "fitted"}, "prices fitted to published times of H100 and H800"),
    ({"draw": 3}, "draw 3 of them"),
])
def test_prices_of_a_cluster_in_words(backend, words):
  run = dataclasses.replace(RUN, backend=config.Backend(**backend))
  profile = cluster_of(run).profile
  assert words in _heading(cost_profile=profile)


def test_kinds_get_blocks_of_their_own():
  text = comparison([_reported("sim"), _reported("mes", "measured")])
  measured, simulated = text.split("SIMULATED")
  assert measured.startswith("MEASURED")
  assert "\nmes" in measured and "\nsim" not in measured
  assert "\nsim" in simulated and "\nmes" not in simulated


def _at_rate(label: str, rate: float, **change) -> ReportedRun:
  run = _reported(label, **change)
  workload = WORKLOAD | {"rate_per_s": rate}
  contract = run.conditions["contract"] | {"rate_per_s": rate}
  conditions = run.conditions | {"contract": contract, "workload": workload}
  return dataclasses.replace(run, conditions=conditions)


def test_a_sweep_over_the_contract_has_a_block_for_each():
  runs = [_at_rate(f"{name} rate={r}", r) for name in "ab" for r in (2, 8)]
  text = comparison(runs)
  first, at_2, at_8 = text.split("SIMULATED")
  assert first.startswith("2 blocks: contracts differ in rate_per_s; nothing")
  assert "poisson 2/s" in at_2 and "poisson 8/s" in at_8
  for block, rate in ((at_2, 2), (at_8, 8)):
    shown = [line for line in block.splitlines() if "rate=" in line]
    assert [line.split(" rate=")[0] for line in shown] == list("ab") * 2
    assert all(f"rate={rate} " in line for line in shown)
    assert "NOT COMPARABLE" not in block


def test_another_number_of_chips_stays_but_is_marked():
  one = config.Cluster(split="1C", chip="h100-sxm")
  text = comparison([_reported("a"), _reported("b", cluster=one)])
  assert text.count("SIMULATED") == 1
  assert "NOT COMPARABLE  runs differ in chips" in text


def test_a_sample_is_never_called_a_trace():
  run = _reported("a")
  workload = {"kind": "azure", "arrival": "trace", "sample": True}
  contract = run.conditions["contract"] | {
      "arrival": "trace", "rate_per_s": None,
  }
  conditions = run.conditions | {"contract": contract, "workload": workload}
  (text,) = [comparison([dataclasses.replace(run, conditions=conditions)])]
  flat = " ".join(text.split())
  assert "5 requests azure SAMPLE made for pdjax, not the trace;" in flat
  assert "azure trace" not in flat


def test_offered_rate_and_link_are_in_the_heading():
  run = _reported("a")
  pools = [{"role": "P", "link_bytes_per_s": 1800e9}, {"role": "D"}]
  run = dataclasses.replace(
      run,
      summary=run.summary | {"offered_rate": 6.0, "offered_rate_per_chip": 2.0},
      conditions=run.conditions | {"design": {"pools": pools}},
  )
  flat = " ".join(comparison([run]).split())
  assert "offered 6/s (2/s/chip)" in flat and "link 1800 GB/s" in flat


def test_flags_and_notes_stand_under_the_numbers():
  text = comparison([_reported("a"), _reported("b")])
  assert "! all runs: 1 of 5 requests did not finish" in text
  assert "- all runs: no p99 of ttft, ttst" in text
  assert "- a: no p99 of ttft, ttst" in comparison([_reported("a")])


def test_a_refused_percentile_says_how_many_it_needs():
  run = _reported("a")
  assert run.summary["p99_ttft_ms"] is None
  assert latency_table([run]).count("n<300") == 3


def test_narrow_and_aligned():
  long = _reported("a label that is longer than its column")
  text = comparison([_reported("a"), long])
  assert max(map(len, text.splitlines())) <= WIDTH
  rows = latency_table([_reported("a"), long]).splitlines()
  assert rows.pop(3) == long.label
  assert len({len(row) for row in rows[1:]}) == 1


def test_swept_values_are_always_visible():
  values = (128, 256)
  runs = [_reported(f"4C chunked chunk_size={value}") for value in values]
  text = comparison(runs)
  assert "all runs 4C chunked" in text
  for value in values:
    assert f"\nchunk_size={value} " in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "-"), (0.0, "0.00"), (0.000123, "0.000123"), (1e-5, "1e-05"),
        (0.0459, "0.0459"), (1.5, "1.50"), (23.45, "23.4"),
    ],
)
def test_goodput_has_three_digits(value, shown):
  run = _reported("a")
  summary = {**run.summary, "request_goodput_per_chip": value}
  row = latency_table([dataclasses.replace(run, summary=summary)])
  assert row.split()[-1] == shown


@pytest.mark.parametrize(
    ("value_ms", "shown"),
    [
        (None, "-"), (0.0, "0.00"), (0.001, "1e-03"), (1.234, "1.23"),
        (12.34, "12.3"), (123.4, "123"), (999999, "999999"), (2e6, "2e+06"),
    ],
)
def test_numbers_keep_their_digits(value_ms, shown):
  run = _reported("a")
  summary = {**run.summary, "p50_ttft_ms": value_ms}
  row = latency_table([dataclasses.replace(run, summary=summary)])
  assert row.splitlines()[2].split()[1] == shown
