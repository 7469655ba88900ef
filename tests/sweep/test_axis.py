"""Axes as text: ranges, whole numbers, lists, seeds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.sweep import axis
from pdjax.unknown import known

RATE, CHUNK = "workload.rate", "strategy.chunk_size"


def values(path, text):
  errors = []
  found = axis.values_of(path, text, errors)
  assert errors == []
  return found


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (RATE, "log(1,64,7)", (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)),
        (RATE, "log(64, 1, 3)", (64.0, 8.0, 1.0)),
        (RATE, "log(1,100,4)", (1.0, 4.64159, 21.5443, 100.0)),
        # Tenths are tenths: 0.1 * 3 would be 0.30000000000000004.
        (RATE, "lin(0,1,11)", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8,
                               0.9, 1.0)),
        (RATE, "range(0.1,0.4,0.1)", (0.1, 0.2, 0.3)),
        (CHUNK, "range(64,257,64)", (64, 128, 192, 256)),
        (CHUNK, "range(3,0,-1)", (3, 2, 1)),
        (CHUNK, "none,32,log(64,256,3),512", (None, 32, 64, 128, 256, 512)),
        (CHUNK, "log(1,4,9)", (1, 2, 3, 4)),  # rounded, each once
        (CHUNK, "32", (32,)),
        ("cluster.tp", "range(1,3)", (1, 2)),
        ("strategy.kind", "a:b(1,2)", ("a:b(1,2)",)),  # no field of numbers
    ],
)
def test_values(path, text, expected):
  found = values(path, text)
  assert found == expected
  assert [type(v) for v in found] == [type(v) for v in expected]


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        (RATE, "lgo(1,2,3)", "lgo(1,2,3): no such range; allowed: lin(A,B,N),"
         " log(A,B,N), range(A,B[,STEP]); did you mean 'log'?"),
        (RATE, "log(0,2,3)", "log(0,2,3): both ends of a log must be above 0"),
        (RATE, "lin(2,2,3)", "lin(2,2,3): the two ends are the same"),
        (RATE, "lin(1,2,1)",
         "lin(1,2,1): N must be a whole number from 2 to 10000"),
        (RATE, "lin(1,2,3.5)",
         "lin(1,2,3.5): N must be a whole number from 2 to 10000"),
        (RATE, "lin(1,x,3)", "lin(1,x,3): expected a number, got 'x'"),
        (RATE, "lin(1,1e999,3)",
         "lin(1,1e999,3): expected a number, got '1e999'"),
        (RATE, "range(1)", "range(1): expected range(A,B[,STEP])"),
        (RATE, "range(1,1)",
         "range(1,1): holds no value; B itself is left out"),
        (RATE, "range(1,2,0)", "range(1,2,0): STEP must not be 0"),
        (RATE, "range(0,1,1e-9)", "range(0,1,1e-9): holds 1000000000 values; at"
         " most 10000 are possible"),
        (RATE, "log(1,64)", "log(1,64): needs a count, log(A,B,N); without one"
         " it is drawn from by --sample=N or sweep.sample"),
        (CHUNK, "range(1,2,0.25)", "expected an integer or none, got 1.25"),
    ],
)
def test_a_range_that_is_none_is_one_line(path, text, line):
  errors = []
  found = axis.values_of(path, f"8,{text}", errors)
  assert errors == [f"{path}: {line}"]
  assert found[0] == 8 and not known(found[1])


@given(
    st.floats(1e-3, 1e6), st.floats(1e-3, 1e6), st.integers(2, 50),
    st.sampled_from(["lin", "log"]),
)
def test_ranges_keep_their_ends_and_their_order(low, high, count, law):
  low, high = float(f"{low:.6g}"), float(f"{high:.6g}")
  if low == high:
    return
  found = values(RATE, f"{law}({low!r},{high!r},{count})")
  assert found[0] == low and found[-1] == high
  assert sorted(found, reverse=low > high) == list(found)


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("0-4", (0, 1, 2, 3, 4)), ("7", (7,)), ("0,2,5-7", (0, 2, 5, 6, 7)),
     ("range(0,6,2)", (0, 2, 4)), ("3 - 3", (3,))],
)
def test_seeds(text, seeds):
  errors = []
  assert axis.seeds_of("--seeds", text, errors) == seeds and errors == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("4-0", "4-0 holds no seed; the smaller one comes first"),
        ("0-10000", "0-10000: at most 10000 seeds are possible"),
        ("x", "expected an integer, got 'x'"),
        ("-1-4", "expected an integer, got '-1-4'"),
    ],
)
def test_seeds_that_are_none_are_one_line(text, line):
  errors = []
  axis.seeds_of("--seeds", text, errors)
  assert errors == [f"--seeds={text}: {line}"]
