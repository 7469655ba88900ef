"""An unknown value is handed on, and stops whoever looks at it."""

import copy
import dataclasses

import pytest

from pdjax import checks, unknown
from pdjax.config import Cluster, Pool, Run, Workload, pools_of

NOBODY_KNOWS = dataclasses.replace(Cluster(), tp=unknown.UNKNOWN)
LOOKS = (
    bool, hash, len, iter, str, repr, int, float, list, "{}".format,
    lambda v: v == 1, lambda v: v != 1, lambda v: v < 1, lambda v: 1 <= v,
    lambda v: v + 1, lambda v: 1 - v, lambda v: v * 2, lambda v: 7 // v,
    lambda v: v.name, lambda v: v["name"], lambda v: 1 in v, lambda v: -v,
    lambda v: v in (1, 2), lambda v: {}.get(v), lambda v: range(v), round,
)


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_is_withheld(look):
  with pytest.raises(unknown.Withheld):
    look(unknown.UNKNOWN)
  with pytest.raises(unknown.Withheld):
    unknown.look(1, unknown.UNKNOWN)


def test_it_is_handed_on():
  assert copy.deepcopy([unknown.UNKNOWN])[0] is unknown.UNKNOWN
  (pool,) = pools_of(Run(cluster=NOBODY_KNOWS))
  assert pool.tp is unknown.UNKNOWN and pool.count == 1
  unknown.look(1, None)


def test_lines_before_the_look_are_told():
  def check(run):
    yield "one"
    yield f"tp is {run.cluster.tp}"

  assert unknown.told(check, Run(cluster=NOBODY_KNOWS)) == ["one"]
  assert unknown.told(check, Run()) == ["one", "tp is 1"]


POOLS = (Pool(role="P", count=2), Pool(role="D", count=1, tp=2))


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("workload.rate: missing", lambda run: run.workload.rate),
        ("workload.rate=-1.0: must be", lambda run: run.workload.rate),
        ("cluster.pools[1].tp: 2", lambda run: run.cluster.pools[1].tp),
        ("slo.terms[0]: no metric", lambda run: run.slo.terms[0]),
        ("strategy.options of 'm:f': no", lambda run: run.strategy.options),
    ],
)
def test_the_field_of_a_line_is_in_doubt(line, read):
  run = Run(cluster=Cluster(pools=POOLS), workload=Workload(rate=1.0))
  terms = (("ttft", "value", "request", 1.0),)
  run = dataclasses.replace(run, slo=dataclasses.replace(run.slo, terms=terms))
  assert unknown.known(read(run))
  doubted = checks.doubted(run, line)
  assert not unknown.known(read(doubted))
  assert doubted.cluster.pools[0].tp == 1


@pytest.mark.parametrize(
    "line", ["workload: 3 of 9 requests", "trace.csv:3: no", "no such: x", ""]
)
def test_a_line_about_no_field_leaves_the_run_as_it_is(line):
  run = Run(workload=Workload(rate=1.0))
  assert checks.doubted(run, line) == run
