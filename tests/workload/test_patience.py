"""How long clients wait: drawn, from a trace, and what is refused."""

import dataclasses
import json

import pytest

from pdjax import config
from pdjax.config import ConfigError
from pdjax.workload.azure import NAMES
from pdjax.workload.build import build
from pdjax.workload.csvrows import Parser
from pdjax.workload.jsonrows import line_row
from pdjax.workload.mooncake import Parser as Mooncake

BASE = config.Workload(rate=5.0, num_requests=400, cancel_fraction=0.25)
HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens,deadline_s"


def changed(**fields):
  return build(dataclasses.replace(BASE, **fields))


def test_a_fraction_of_clients_gives_up_after_an_exponential_wait():
  workload = build(BASE)
  waits_s = [ps / 1e12 for ps in workload.cancel_after_ps.values()]
  assert 70 < len(waits_s) < 130  # 100 +- 3.5 standard deviations
  assert 6.5 < sum(waits_s) / len(waits_s) < 13.5  # mean 10
  told = workload.conditions["cancelled"]
  assert told == {
      "fraction": 0.25, "mean_wait_s": 10.0, "requests": len(waits_s)
  }


def test_a_larger_fraction_cancels_the_same_and_more():
  few = build(BASE).cancel_after_ps
  many = changed(cancel_fraction=0.5).cancel_after_ps
  assert few.items() < many.items()
  assert not changed(cancel_fraction=0.0).cancel_after_ps
  assert len(changed(cancel_fraction=1.0).cancel_after_ps) == 400
  other = changed(cancel_after_s=20.0).cancel_after_ps
  assert other.keys() == few.keys() and other != few


def test_what_clients_do_leaves_the_rest_of_the_workload_alone():
  workload, plain = build(BASE), changed(cancel_fraction=0.0)
  assert workload.requests == plain.requests
  assert workload.output_tokens == plain.output_tokens


def test_a_deadline_counts_from_each_arrival():
  workload = changed(deadline_s=1.5)
  for request in workload.requests:
    assert request.deadline_ps == request.arrival_ps + 1_500_000_000_000
  assert workload.conditions["deadline"] == {"after_s": 1.5, "requests": 400}
  assert {r.deadline_ps for r in build(BASE).requests} == {None}


def test_a_trace_brings_its_own_and_the_config_the_rest(tmp_path):
  trace = tmp_path / "trace.csv"
  trace.write_text(
      "cancel_after_s," + HEADER + "\n"
      "0.5,2024-01-01 00:00:00,9,5,\n"
      ",2024-01-01 00:00:01,9,5,2.25\n"
      ",2024-01-01 00:00:02,9,5,\n"
  )
  plain = config.Workload(kind="azure", path=str(trace))
  workload = build(plain)
  s = 10**12
  assert workload.cancel_after_ps == {0: s // 2}
  assert [r.deadline_ps for r in workload.requests] == [
      None, 3 * s + s // 4, None
  ]
  both = build(dataclasses.replace(plain, deadline_s=4.0, cancel_fraction=1.0))
  assert [r.deadline_ps for r in both.requests] == [
      4 * s, 3 * s + s // 4, 6 * s
  ]
  waits_ps = both.cancel_after_ps
  assert waits_ps.keys() == {0, 1, 2} and waits_ps[0] == s // 2
  skipped = build(dataclasses.replace(plain, skip_requests=1))
  assert not skipped.cancel_after_ps
  assert skipped.requests[0].deadline_ps == 2 * s + s // 4


def test_rows_of_json_may_bring_theirs():
  line = {
      "timestamp": 0, "input_length": 6, "output_length": 5, "hash_ids": [],
      "cancel_after_s": 2.5, "deadline_s": None,
  }
  row = Mooncake().row(json.dumps(line))
  assert (row.cancel_after_ps, row.deadline_after_ps) == (25 * 10**11, 0)
  assert line_row(json.dumps(line | {"deadline_s": 3})).deadline_after_ps == (
      3 * 10**12
  )
  for value, words in ((0, "above 0"), (-1, "from 0 up"), ("x", "not a num")):
    with pytest.raises(ValueError, match=words):
      Mooncake().row(json.dumps(line | {"deadline_s": value}))


@pytest.mark.parametrize("text", ["soon", "-1", "1e3", "nan", "0", "2000000"])
def test_other_waits_are_refused(text):
  with pytest.raises(ValueError, match="deadline_s"):
    Parser(HEADER, NAMES).row(f"2024-01-01 00:00:00,9,5,{text}")


@pytest.mark.parametrize(
    ("field", "value"),
    [("cancel_fraction", 1.5), ("cancel_fraction", -0.1),
     ("cancel_after_s", 0.0), ("deadline_s", 0.0), ("deadline_s", -3.0)],
)
def test_a_wrong_knob_is_named(field, value):
  with pytest.raises(ConfigError, match=f"workload.{field}={value}"):
    changed(**{field: value})
