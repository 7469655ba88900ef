"""Conditions that cells must meet."""

import dataclasses

import pytest

from pdjax.sweep.where import meeting, where_of


@dataclasses.dataclass(frozen=True)
class One:
  values: dict

  name = "one"

  def value(self, path):
    return self.values[path]


CELL = One({
    "strategy.chunk_size": 256, "workload.rate": 4.0, "cluster.split": "2P2D",
    "strategy.kind": "disaggregated", "case": "a", "repeat": 0,
    "workload.path": None,
})


def holds(text, cell=CELL):
  errors = []
  where = where_of("--where", text, errors)
  met, more = meeting([cell], where)
  assert errors == [] and (met or len(more) == 1)
  return bool(met)


@pytest.mark.parametrize(
    "text",
    [
        "strategy.chunk_size == 256",
        "strategy.chunk_size <= 64 * workload.rate",
        "100 < strategy.chunk_size < 300",
        "cluster.split in ('1P3D', '2P2D')",
        "cluster.split not in ['4C']",
        "not workload.rate > 4",
        "workload.path is none and case == 'a'",
        "workload.path == None or workload.path > 3",
        "repeat + 1 == 1 and -repeat == 0 and workload.rate // 3 % 2 == 1",
        "true",
    ],
)
def test_conditions_that_hold(text):
  assert holds(text)
  assert not holds(f"not ({text})")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("workload.rat < 3", "workload.rat: no such field; did you mean"
         " 'rate'?"),
        ("rate < 3", "rate: no such field; allowed: model, cluster, strategy,"
         " workload, sampling, engine, slo, backend, faults"),
        ("open('x')", "open('x') cannot stand in a condition"),
        ("(lambda: 1)", "lambda: 1 cannot stand in a condition"),
        ("workload.rate ** 9", "workload.rate ** 9 cannot stand in a"
         " condition"),
        ("[x for x in case]", "[x for x in case] cannot stand in a condition"),
        ("case.split.x == 1", "case: no such field"),
        ("'a' * 9999999999 == 'b'", "+ - * / // % are for numbers, not for"),
        ("'%999999999d' % 3 == case", "+ - * / // % are for numbers, not for"),
        ("case in 99999999999 * ('a',)", "+ - * / // % are for numbers, not"),
        ("1 <", "not a condition: invalid syntax"),
        ("", "not a condition: invalid syntax"),
    ],
)
def test_what_is_no_condition_is_one_line(text, line):
  errors = []
  assert where_of("--where", text, errors) == ()
  (told,) = errors
  start = f"--where={text!r}: "
  assert told.startswith(start)
  assert told.removeprefix(start).startswith(line.partition("; allowed")[0])


def test_a_condition_is_text():
  errors = []
  where_of("sweep.where", 3, errors)
  assert errors == [
      "sweep.where: expected a condition, such as 'strategy.chunk_size <= 512',"
      " got 3"
  ]


def test_a_condition_without_an_answer_is_one_line():
  where = where_of("--where", "workload.path < 3", [])
  assert meeting([CELL, CELL], where)[1] == [
      "sweep.where: workload.path < 3 has no answer where workload.path is none"
      " (in cell one)"
  ]
  (line,) = meeting([CELL], where_of("--where", "1 / repeat > 2", []))[1]
  assert "has no answer where repeat is 0" in line


@pytest.mark.parametrize(
    "text",
    [
        "case * 99999999999 == 'b'",
        "case + case == 'aa'",
        " * ".join(["9" * 300] * 4) + " > 1",
        "1 / 0",
    ],
)
def test_arithmetic_that_has_no_bounds_has_no_answer(text):
  where = where_of("--where", text, [])
  (line,) = meeting([CELL], where)[1]
  given = " where case is 'a'" if "case" in text else ""
  assert line.endswith(f"{text} has no answer{given} (in cell one)")


def test_no_cell_left_is_a_mistake():
  where = where_of("--where", "workload.rate > 9", [])
  assert meeting([CELL], where) == (
      [], ["sweep.where: no cell meets workload.rate > 9"]
  )
