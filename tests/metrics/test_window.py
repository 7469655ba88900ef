"""What a steady run's window measures, held against the whole run."""

import dataclasses

import numpy as np
import pytest

from pdjax import config
from pdjax.metrics.conditions import comparable, conditions
from pdjax.metrics.requests import request_table
from pdjax.metrics.summary import summarize
from pdjax.metrics.throughput import throughputs
from pdjax.reads import resolved
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.build import build
from tests.metrics.scripted import token_times_ns

RUN = resolved(config.Run(
    cluster=config.Cluster(split="1C", chip="h100-sxm"),
    workload=config.Workload(
        rate=10.0, protocol="steady", duration_s=30.0, warmup_s=5.0,
        prompt=config.Lengths(kind="lognormal", mean=300, high=800),
        output=config.Lengths(kind="lognormal", mean=40, high=600),
    ),
    slo=config.SLO(ttft_s=0.2, tpot_s=0.012),
))


def served(run):
  """(workload, log, table of all requests)."""
  workload = build(run.workload)
  cluster = cluster_of(run)
  backend = cluster.backend(workload.clients(), workload.output_tokens)
  log = serve(policy_of(run), backend, world_of(run, cluster.pool_pages))
  return workload, log, request_table(log, window=workload.window)


@pytest.fixture(scope="module")
def steady():
  return served(RUN)


def test_measured_are_those_that_arrive_in_the_window(steady):
  workload, _, table = steady
  measured = table.measured()
  arrival_s = measured["arrival_ns"] / 1e9
  assert 5 <= arrival_s.min() and arrival_s.max() < 35
  assert len(measured) == sum(
      workload.window.holds(r.arrival_ps) for r in workload.requests
  )
  assert measured.finished.all()
  assert len(table) > len(measured) + table["arrival_ns"].searchsorted(5e9)
  assert measured.measured() is measured


def test_figures_are_of_measured_requests(steady):
  _, log, table = steady
  measured = table.measured()
  times = token_times_ns(log)
  gaps = np.concatenate(
      [np.diff(times[id]) for id in measured["request"] if len(times[id]) > 1]
  )
  sample = measured.sample("itl")
  assert sample.total == len(gaps)
  assert sample.percentile(50) == np.percentile(gaps, 50)
  ttft = [times[id][0] for id in measured["request"]] - measured["arrival_ns"]
  assert measured.sample("ttft").mean() == pytest.approx(ttft.mean())


def test_throughput_is_what_was_done_in_the_window(steady):
  _, log, table = steady
  times = token_times_ns(log)
  made = sum(
      5e9 <= at_ns < 35e9 for tokens in times.values() for at_ns in tokens
  )
  found = throughputs(table)
  assert found["output_throughput"] == pytest.approx(made / 30)
  ended = sum(
      5e9 <= times[id][-1] < 35e9
      for id, state in zip(table["request"], table["state"], strict=True)
      if state == "finished"
  )
  assert found["request_throughput"] == pytest.approx(ended / 30)


def test_the_summary_of_a_steady_run(steady):
  _, _, table = steady
  row = summarize(table, RUN)
  assert row["duration"] == row["arrival_span"] == 30
  assert row["sent"] == row["completed"] == len(table.measured())
  good = row["slo_attainment"] * row["sent"]
  assert row["request_goodput"] == pytest.approx(good / 30)
  assert not any("drain" in flag for flag in row["flags"])
  assert row["steps"] < request_table(steady[1]).steps.steps


def test_an_overload_is_seen_and_soon_over():
  run = dataclasses.replace(
      RUN, workload=dataclasses.replace(RUN.workload, rate=200.0)
  )
  workload, log, table = served(run)
  row = summarize(table, run)
  assert "queue kept growing while requests arrived" in row["flags"]
  # Whoever is not measured is let go when the last measured one has ended.
  ended_ns = table.measured()["ended_ns"].max()
  assert table.end_ns - ended_ns < 0.5e9
  assert len(table) <= len(workload.requests)


def test_steady_and_count_never_meet_in_a_ratio(steady):
  count = resolved(dataclasses.replace(RUN, workload=dataclasses.replace(
      RUN.workload, protocol="count", num_requests=300,
      duration_s=None, warmup_s=None,
  )))
  longer = resolved(dataclasses.replace(RUN, workload=dataclasses.replace(
      RUN.workload, duration_s=60.0
  )))
  ours, theirs, others = (
      conditions(run, build(run.workload).conditions)
      for run in (RUN, count, longer)
  )
  assert {"protocol", "window"} <= set(comparable(ours, theirs))
  assert "window" in comparable(ours, others)
