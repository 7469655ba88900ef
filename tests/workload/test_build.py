"""Building workloads: determinism, every knob, every mistake."""

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax import config
from pdjax.config import ConfigError, Lengths
from pdjax.workload.build import build
from pdjax.workload.statistics import describe

LOGNORMAL = Lengths(kind="lognormal", mean=300.0, cv=1.0, high=2000)
CHAT = config.Workload(
    rate=4.0, num_requests=50, prompt=LOGNORMAL, output=LOGNORMAL
)
AZURE = config.Workload(kind="azure")
MOONCAKE = config.Workload(kind="mooncake")

synthetic = st.builds(
    config.Workload,
    num_requests=st.integers(1, 40),
    seed=st.integers(0, 2**40),
    arrival=st.sampled_from(
        [None, "poisson", "gamma", "constant", "all_at_once"]
    ),
    rate=st.floats(0.01, 1000),
    arrival_cv=st.floats(0.1, 4),
    prompt=st.sampled_from([Lengths(), LOGNORMAL]),
    max_tokens=st.none() | st.integers(1, 300),
    stop=st.sampled_from(["forced_length", "eos"]),
)
trace = st.builds(
    config.Workload,
    kind=st.sampled_from(["azure", "mooncake"]),
    num_requests=st.none() | st.integers(1, 100),
    skip_requests=st.integers(0, 100),
    time_scale=st.floats(0.1, 10),
    length_scale=st.sampled_from([1 / 64, 0.5, 1.0, 1.25]),
    max_prompt_tokens=st.none() | st.integers(1, 2000),
    max_output_tokens=st.none() | st.integers(1, 500),
    max_tokens=st.none() | st.integers(1, 300),
    stop=st.sampled_from(["forced_length", "eos"]),
)


def _replace(workload, **fields):
  return dataclasses.replace(workload, **fields)


def _errors(workload):
  with pytest.raises(ConfigError) as error:
    build(workload)
  return error.value.errors


def _prompts(workload):
  return [request.prompt_tokens for request in workload.requests]


def _arrivals(workload):
  return [request.arrival_ps for request in workload.requests]


@settings(deadline=None, max_examples=60)
@given(synthetic | trace)
def test_same_config_same_workload(configured):
  one, other = build(configured), build(configured)
  assert one == other
  text = json.dumps(one.conditions, allow_nan=False)
  assert json.loads(text) == one.conditions


@settings(deadline=None, max_examples=60)
@given(synthetic | trace)
def test_declared_and_true_lengths(configured):
  workload = build(configured)
  declared = [request.max_tokens for request in workload.requests]
  if configured.max_tokens is not None:
    assert set(declared) == {configured.max_tokens}
  if configured.max_tokens is None or configured.stop == "eos":
    assert list(workload.output_tokens) == declared
  for request in workload.requests:
    assert len(request.prefix_ids) * request.prefix_block_tokens < (
        request.prompt_tokens + max(1, request.prefix_block_tokens)
    )


def test_seeds_differ():
  seeds = [build(_replace(CHAT, seed=seed)) for seed in range(5)]
  assert len({w.conditions["content_sha256"] for w in seeds}) == 5


def test_one_law_does_not_move_the_draws_of_another():
  base = build(CHAT)
  faster = build(_replace(CHAT, rate=40.0))
  assert _prompts(faster) == _prompts(base)
  assert faster.output_tokens == base.output_tokens
  fixed = build(_replace(CHAT, prompt=Lengths(mean=9.0)))
  assert _arrivals(fixed) == _arrivals(base)
  assert fixed.output_tokens == base.output_tokens
  assert _prompts(base) != list(base.output_tokens)


@pytest.mark.parametrize(
    "change",
    [
        {"num_requests": 51}, {"seed": 1},
        {"arrival": "gamma", "arrival_cv": 2.0}, {"arrival": "constant"},
        {"arrival": "all_at_once"}, {"rate": 4.1},
        {"prompt": Lengths()}, {"output": Lengths()}, {"max_tokens": 100},
        {"max_tokens": 100, "stop": "eos"},
    ],
)
def test_every_knob_of_a_synthetic_workload_turns(change):
  base = build(CHAT).conditions
  other = build(_replace(CHAT, **change)).conditions
  assert other["content_sha256"] != base["content_sha256"]


@pytest.mark.parametrize(
    "change",
    [
        {"num_requests": 20}, {"skip_requests": 1}, {"time_scale": 2.0},
        {"arrival": "poisson", "rate": 4.0}, {"length_scale": 0.5},
        {"max_prompt_tokens": 600}, {"max_output_tokens": 90},
        {"max_tokens": 90},
    ],
)
@pytest.mark.parametrize("base", [AZURE, MOONCAKE], ids=lambda w: w.kind)
def test_every_knob_of_a_trace_turns(base, change):
  changed = build(_replace(base, **change)).conditions
  assert changed["content_sha256"] != build(base).conditions["content_sha256"]


def test_rate_and_cv_as_configured():
  configured = _replace(
      CHAT, num_requests=30_000, arrival="gamma", arrival_cv=2.0
  )
  workload = build(configured)
  gaps_ps = np.diff(_arrivals(workload))
  assert describe(workload)["rate_per_s"] == pytest.approx(4.0, rel=0.05)
  assert gaps_ps.std() / gaps_ps.mean() == pytest.approx(2.0, rel=0.1)


def test_rate_of_a_trace_with_other_arrivals():
  workload = build(_replace(AZURE, arrival="constant", rate=10.0))
  assert describe(workload)["rate_per_s"] == pytest.approx(10.0)
  assert _prompts(workload) == _prompts(build(AZURE))
  assert "lengths are the trace's, arrival times are not" in (
      workload.conditions["notes"]
  )


def test_a_slice_starts_at_0():
  whole, part = build(AZURE), build(_replace(AZURE, skip_requests=10,
                                             num_requests=5))
  start_ps = _arrivals(whole)[10]
  assert _arrivals(part) == [a - start_ps for a in _arrivals(whole)[10:15]]
  assert _prompts(part) == _prompts(whole)[10:15]


def test_cuts_are_counted():
  whole = build(AZURE)
  workload = build(
      _replace(AZURE, max_prompt_tokens=700, max_output_tokens=100)
  )
  long = sum(tokens > 700 for tokens in _prompts(whole))
  wordy = sum(tokens > 100 for tokens in whole.output_tokens)
  assert workload.conditions["cuts"] == {
      "max_prompt_tokens": {"limit": 700, "requests_cut": long},
      "max_output_tokens": {"limit": 100, "requests_cut": wordy},
  }
  assert 0 < long < 200 and 0 < wordy < 200
  assert max(_prompts(workload)) == 700


def test_max_tokens_rules_are_stated():
  true = build(AZURE)
  assert true.conditions["max_tokens"]["rule"] == (
      "declared length equals true length"
  )
  capped = build(_replace(AZURE, max_tokens=64))
  assert capped.output_tokens == tuple(min(64, n) for n in true.output_tokens)
  assert capped.conditions["max_tokens"] == {
      "declared": 64,
      "rule": "every request declares 64 tokens",
      "requests_cut": sum(n > 64 for n in true.output_tokens),
  }
  cut = len(capped.cut)
  assert cut == capped.conditions["max_tokens"]["requests_cut"] > 0
  assert all(true.output_tokens[id] > 64 for id in capped.cut)
  assert capped.conditions["stop_rule"].endswith(
      f"its true length, but {cut} of 200 are cut to max_tokens=64"
  )
  for whole in (true, build(_replace(AZURE, max_tokens=10**6))):
    assert not whole.cut
    assert whole.conditions["stop_rule"].endswith("has its true length")
  bound = build(_replace(AZURE, max_tokens=64, stop="eos"))
  assert not bound.cut
  assert set(bound.output_tokens) == {64}
  assert "upper bounds" in bound.conditions["stop_rule"]


def test_blocks_scale_with_mooncake_prompts():
  whole, half = build(MOONCAKE), build(_replace(MOONCAKE, length_scale=0.5))
  assert half.conditions["prefix_block_tokens"] == 256
  assert describe(half)["prefix_reuse_share"] == pytest.approx(
      describe(whole)["prefix_reuse_share"], abs=0.01
  )


def test_out_of_order_rows_are_noted(tmp_path):
  file = tmp_path / "late.csv"
  file.write_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2024-01-31 09:00:05,1,1\n2024-01-31 09:00:04,2,2\n"
  )
  workload = build(_replace(AZURE, path=str(file)))
  assert _prompts(workload) == [2, 1]
  assert workload.conditions["late_rows"] == 1
  assert workload.conditions["notes"][0].startswith("1 of 2 rows of the trace")
  assert workload.conditions["source"] == "late.csv"


def test_content_does_not_depend_on_the_file_s_dress(tmp_path):
  lines = ["TIMESTAMP,ContextTokens,GeneratedTokens", "2024-01-31 09:00:05,1,1"]
  hashes = []
  for end, name in (("\n", "unix.csv"), ("\r\n", "dos.csv")):
    file = tmp_path / name
    file.write_bytes(end.join(lines).encode())
    conditions = build(_replace(AZURE, path=str(file))).conditions
    hashes.append((conditions["content_sha256"], conditions["source_sha256"]))
  assert hashes[0][0] == hashes[1][0]
  assert hashes[0][1] != hashes[1][1]


@pytest.mark.parametrize(
    ("workload", "line"),
    [
        (config.Workload(), "workload.rate: missing"),
        (_replace(CHAT, rate=0.0), "workload.rate=0.0: must be from"),
        (_replace(CHAT, rate=-1.0), "workload.rate=-1.0: must be from"),
        (_replace(CHAT, rate=float("nan")), "workload.rate=nan: must be"),
        (_replace(CHAT, arrival="gamma", arrival_cv=0.0),
         "workload.arrival_cv=0.0: must be from"),
        (_replace(CHAT, num_requests=0), "workload.num_requests=0: must be"),
        (_replace(CHAT, seed=-1), "workload.seed=-1: must be from 0"),
        (_replace(CHAT, arrival="trace"), "a synthetic workload has no trace"),
        (_replace(CHAT, protocol="steady", arrival="all_at_once"),
         "requests that come all at once have no steady state"),
        (_replace(CHAT, protocol="steady", arrival="closed", concurrency=2,
                  num_requests=None),
         "workload.num_requests: missing; in a loop"),
        (_replace(CHAT, protocol="steady", duration_s=0.0),
         "workload.duration_s=0.0: must be from 1e-06"),
        (_replace(CHAT, protocol="steady", warmup_s=-1.0),
         "workload.warmup_s=-1.0: must be from 0"),
        (_replace(CHAT, protocol="steady", rate=0.001, duration_s=10.0),
         "no request arrives in the window, from 2.5 to 12.5 s"),
        (_replace(CHAT, protocol="steady", rate=1e9, duration_s=3.0),
         "workload.rate=1000000000.0: 7.5e+09 requests would arrive in warm-up,"
         " window and as long again, 7.5 s; at most 1000000 are possible"),
        (_replace(CHAT, protocol="steady", duration_s=1e6),
         "workload.rate=4.0: 1e+07 requests would arrive"),
        (_replace(AZURE, protocol="steady", arrival="poisson", rate=1e9),
         "requests last"),
        (_replace(AZURE, protocol="steady", duration_s=3600.0),
         "requests last"),
        (_replace(CHAT, arrival="closed"), "workload.concurrency: missing"),
        (_replace(CHAT, stay_probability=1.0),
         "workload.stay_probability=1.0: must be from 0 to 0.999"),
        (_replace(CHAT, arrival="semi_open", rate=None),
         "workload.rate: missing; arrival='semi_open'"),
        (_replace(CHAT, max_tokens=0), "workload.max_tokens=0: must be"),
        (_replace(CHAT, prompt=Lengths(mean=0.0)), "workload.prompt.mean=0.0"),
        (_replace(CHAT, output=Lengths(mean=1.5)),
         "workload.output.mean=1.5: a fixed length is a whole number"),
        (_replace(CHAT, prompt=Lengths(kind="lognormal", cv=-1.0)),
         "workload.prompt.cv=-1.0"),
        (_replace(CHAT, prompt=Lengths(kind="lognormal", low=0)),
         "workload.prompt.low=0"),
        (_replace(CHAT, prompt=Lengths(kind="lognormal", low=9, high=8)),
         "workload.prompt.high=8: must be from low=9"),
        (_replace(CHAT, prompt=Lengths(kind="empirical")),
         "workload.prompt.values: kind='empirical' needs at least one"),
        (_replace(CHAT, output=Lengths(kind="empirical", values=(3, 0, -1))),
         "workload.output.values: 2 of 3 are not"),
        (_replace(AZURE, num_requests=201),
         "workload.num_requests=201: azure.csv has 200 requests"),
        (_replace(AZURE, num_requests=191, skip_requests=10),
         "azure.csv has 200 requests, 190 after skipping 10"),
        (_replace(AZURE, skip_requests=200),
         "workload.skip_requests=200: azure.csv has 200 requests, none"),
        (_replace(AZURE, start_s=1e6),
         "workload.start_s=1e+06: azure.csv has 0 requests from start_s=1e+06,"
         " of 200 in all"),
        (_replace(AZURE, start_s=1.0, num_requests=201),
         " requests from start_s=1"),
        (_replace(AZURE, time_scale=0.0), "workload.time_scale=0.0"),
        (_replace(AZURE, time_scale=1e9), "longer than the limit of 53 days"),
        (_replace(AZURE, length_scale=-2.0), "workload.length_scale=-2.0"),
        (_replace(AZURE, path="no.csv"), "workload.path='no.csv': no such"),
        (_replace(MOONCAKE, length_scale=0.3),
         "would become 153.6; the nearest scale that fits is 0.30078125"),
    ],
)
def test_one_line_a_mistake(workload, line):
  (error,) = _errors(workload)
  assert line in error
  assert "\n" not in error


def test_all_mistakes_at_once(tmp_path):
  file = tmp_path / "bad.csv"
  file.write_text(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-01-31 09:00:05,0,1\n"
  )
  errors = _errors(
      _replace(AZURE, path=str(file), seed=-1, time_scale=-1.0,
               concurrency=0)
  )
  assert len(errors) == 4
  assert errors[-1] == (
      f"{file}:2: ContextTokens is 0; at least 1 token is needed"
  )


@pytest.mark.data
def test_azure_trace(data_dir):
  path = str(data_dir / "traces" / "AzureLLMInferenceTrace_conv.csv")
  stats = describe(build(_replace(AZURE, path=path)))
  assert stats["num_requests"] == 19_366
  assert stats["rate_per_s"] == pytest.approx(5.53, abs=0.01)
  assert stats["prompt_tokens"]["p50"] == 1020
  assert stats["output_tokens"]["p50"] == 129


STEADY = _replace(
    CHAT, protocol="steady", num_requests=None, duration_s=40.0, warmup_s=10.0
)


def test_a_window_takes_what_its_rate_brings():
  built = build(STEADY)
  window = built.window
  assert (window.begin_ps, window.end_ps) == (10 * 10**12, 50 * 10**12)
  arrivals_ps = _arrivals(built)
  # As long again after the window: the load goes on.
  assert 98e12 < arrivals_ps[-1] < 100e12
  inside = sum(map(window.holds, arrivals_ps))
  assert inside == pytest.approx(160, abs=40)
  assert built.least_arrivals == sum(at < 50e12 for at in arrivals_ps)
  # The same arrivals as when they are counted.
  assert arrivals_ps[:50] == _arrivals(build(CHAT))


def test_a_longer_window_begins_with_the_shorter_one():
  longer = build(_replace(STEADY, duration_s=80.0))
  shorter = build(STEADY)
  count = len(shorter.requests)
  assert longer.requests[:count] == shorter.requests


def test_a_window_over_a_trace():
  trace = build(AZURE)
  end_s = trace.requests[-1].arrival_ps / 1e12
  built = build(_replace(
      AZURE, protocol="steady", warmup_s=0.0, duration_s=end_s / 3
  ))
  last_ps = built.requests[-1].arrival_ps
  assert built.window.end_ps <= last_ps < built.window.horizon_ps
  assert trace.requests[: len(built.requests)] == built.requests
  drawn = build(_replace(
      AZURE, protocol="steady", arrival="poisson", rate=1.0, duration_s=60.0
  ))
  assert _prompts(drawn) == _prompts(trace)[: len(drawn.requests)]


def test_users_of_a_closed_loop_come_at_once():
  built = build(_replace(
      CHAT, arrival="closed", concurrency=3, think_time_s=2.0, rate=None
  ))
  assert built.behaviour.first_ps == (0, 0, 0) and all(built.behaviour.stays)
  assert np.mean(built.behaviour.think_ps) == pytest.approx(2e12, rel=0.4)
  assert built.conditions["users"] == {"concurrency": 3, "think_time_s": 2.0}
  assert built.least_arrivals == 50


def test_semi_open_users_come_by_themselves_and_leave():
  load = _replace(
      CHAT, arrival="semi_open", stay_probability=0.75, num_requests=2000
  )
  behaviour = build(load).behaviour
  assert np.mean(behaviour.stays) == pytest.approx(0.75, abs=0.04)
  # Four requests a user: users come at a quarter of the rate.
  gap_s = np.diff(behaviour.first_ps).mean() / 1e12
  assert 1 / gap_s == pytest.approx(1.0, rel=0.1)
  assert set(behaviour.think_ps) == {0}


@pytest.mark.parametrize(
    "change",
    [{"concurrency": 4}, {"think_time_s": 1.0}, {"arrival": "semi_open"}],
)
def test_loops_have_contents_of_their_own(change):
  base = _replace(CHAT, arrival="closed", concurrency=3)
  ours, theirs = build(base), build(_replace(base, **change))
  hashes = [one.conditions["content_sha256"] for one in (ours, theirs)]
  assert hashes[0] != hashes[1]
