"""Short names keep what tells runs apart."""

import pytest

from pdjax.report.labels import WIDTH, row, shortened


@pytest.mark.parametrize(
    ("labels", "short", "shared"),
    [
        (["4C chunked", "4C continuous"], None, ""),
        (["4C chunked rate=8 x", "4C chunked rate=16 x"], ["rate=8", "rate=16"],
         "4C chunked x"),
        (["continuous batching", "continuous batching rate=2"], None, ""),
        (["one long label of one run"], None, ""),
    ],
)
def test_shared_words_go_only_where_something_is_left(labels, short, shared):
  assert shortened(labels) == (short or labels, shared)


def test_a_long_label_has_a_line_of_its_own():
  assert row("short", "1 2") == "short".ljust(WIDTH) + "1 2"
  long = "x" * WIDTH
  assert row(long, "1 2").splitlines() == [long, " " * WIDTH + "1 2"]
