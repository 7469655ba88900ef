"""The Azure format: times, columns, and what is refused."""

import pytest

from pdjax.workload import azure
from pdjax.workload.csvrows import Parser
from pdjax.workload.row import Row

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"


def time_ps(text):
  return azure.time_ps("TIMESTAMP", text)


def test_seven_digits_are_exact():
  # One unit of the seventh digit is 100 ns = 10^5 ps.
  early = time_ps("2023-11-16 18:15:46.6805900")
  late = time_ps("2023-11-16 18:15:46.6805901")
  assert late - early == 10**5


@pytest.mark.parametrize(
    ("text", "since_s"),
    [
        ("2023-12-31 23:59:59", 0),
        ("2024-01-01T00:00:00.5", 1.5),
        ("2024-01-01 01:00:00Z", 3601),
        ("2024-01-01 01:00:00+01:00", 1),
        ("2024-02-29 00:00:00", 59 * 86400 + 1),
    ],
)
def test_times(text, since_s):
  start_ps = time_ps("2023-12-31 23:59:59.0000000")
  assert time_ps(text) - start_ps == since_s * 10**12


@pytest.mark.parametrize(
    "text",
    ["", "soon", "2023-13-01 00:00:00", "2023-02-29 00:00:00", "12:00:00",
     "2023-11-16 18:15", "2023-11-16 18:15:46.", "1700158546"],
)
def test_bad_times(text):
  with pytest.raises(ValueError, match="TIMESTAMP .* is not a time such as"):
    time_ps(text)


def test_columns_in_any_order_among_others():
  parser = Parser(
      "Kind, GeneratedTokens ,TIMESTAMP,ContextTokens", azure.NAMES
  )
  row = parser.row("chat, 4 ,1970-01-01 00:00:00, 9")
  assert row == Row(0, 9, 4)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1970-01-01 00:00:00,0,4", "ContextTokens is 0; at least 1"),
        ("1970-01-01 00:00:00,9,-3", "GeneratedTokens is -3; at least 1"),
        ("1970-01-01 00:00:00,9,4.5", "GeneratedTokens '4.5' is not a whole"),
        ("1970-01-01 00:00:00,,4", "ContextTokens '' is not a whole number"),
        ("1970-01-01 00:00:00,1_0,4", "ContextTokens '1_0' is not a whole"),
        ("1970-01-01 00:00:00,9000000000,4", "at most 1000000000"),
        ("1970-01-01 00:00:00,9", "2 fields, but the header names 3"),
        ("1970-01-01 00:00:00,9,4,4", "4 fields, but the header names 3"),
    ],
)
def test_bad_rows(line, reason):
  with pytest.raises(ValueError, match=reason):
    Parser(HEADER, azure.NAMES).row(line)


def test_missing_columns_are_named():
  with pytest.raises(ValueError, match="missing column TIMESTAMP, Generated"):
    Parser("time,ContextTokens,output", azure.NAMES)
