"""The generator's self-test sees loads that are not as configured."""

import dataclasses

import numpy as np
import pytest

from pdjax import config
from pdjax.cli import selftest
from pdjax.cli.selftest import Delivery, deliver, delivered, drawn
from pdjax.reads import resolved
from pdjax.workload.build import build


def load(**fields):
  run = config.Run(workload=config.Workload(**fields))
  return resolved(run).workload


LOADS = (
    load(rate=7.0, num_requests=2000),
    load(rate=7.0, num_requests=2000, arrival="gamma", arrival_cv=2.5),
    load(rate=7.0, num_requests=50, arrival="constant"),
    load(rate=7.0, protocol="steady", duration_s=100.0),
    load(kind="azure", rate=3.0),
    load(arrival="closed", concurrency=3),
)


@pytest.mark.parametrize("workload", LOADS, ids=lambda w: str(w.arrival))
def test_what_is_drawn_is_what_is_configured(workload):
  checks = list(drawn(workload, build(workload)))
  assert checks and all(check.good for check in checks)


@pytest.mark.parametrize(
    ("change", "text"),
    [({"rate": 8.0}, "of 8/s"), ({"arrival_cv": 2.0}, "of 2"),],
)
def test_another_rate_and_variation_are_seen(change, text):
  workload = load(rate=7.0, num_requests=3000, arrival="gamma", arrival_cv=1.0)
  built = build(workload)
  asked = dataclasses.replace(workload, **change)
  (bad,) = [check for check in drawn(asked, built) if not check.good]
  assert text in bad.text


def test_users_have_one_request_at_a_time():
  workload = load(arrival="closed", concurrency=3, num_requests=20)
  sent = deliver(build(workload), longest_s=30.0, service_s=0.002)
  assert len(sent.lag_s) == 20 and sent.most == 3
  assert (sent.lag_s >= 0).all()
  *_, users = delivered(workload, sent)
  assert users.good and "3 requests at a time of 3 users" in users.text
  more = dataclasses.replace(sent, most=5)
  assert not list(delivered(workload, more))[-1].good


def test_open_arrivals_do_not_wait_for_answers():
  workload = load(rate=200.0, num_requests=20)
  sent = deliver(build(workload), longest_s=30.0, service_s=20.0)
  assert len(sent.lag_s) == 20 and sent.most == 20


def test_a_late_generator_is_told():
  workload = load(rate=10.0)
  late = Delivery(np.full(50, 0.02), np.arange(50) / 10, 1)
  (check,) = delivered(workload, late)
  assert not check.good and "client lag p99 20 ms" in check.text
  (nothing,) = delivered(workload, Delivery(np.array([]), np.array([]), 0))
  assert not nothing.good


def test_the_command_checks_each_workload_once(
    command, folder, monkeypatch
):
  monkeypatch.setattr(selftest, "LATE_MS", 1e6)
  status, told, _ = command("--selftest_generator")
  assert status == 0
  lines = [line for line in told.splitlines() if "seed 0" in line]
  assert lines and all(line.startswith("ok") for line in lines)
  assert not (folder / "results").exists()
