"""The checks under measured figures say what differs and why it may."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pdjax.cli.proof import proof

ROW = {
    "kind": "measured", "padded_token_fraction": 0.25, "programs": 7,
    "compiles_in_window": 0, "pages_leaked": 0, "max_generator_lag_ms": 0.5,
    "verified_tokens": 10, "verified_tokens_equal": 9,
    "verified_tokens_tied": 1,
}


@pytest.fixture
def make(tmp_path):
  def run(name, tokens, gaps=None, contract=(), **row):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "summary.json").write_text(json.dumps(ROW | row))
    conditions = {
        "contract": {
            "sampling": {"temperature": 0}, "chips": 1, **dict(contract)
        }
    }
    (folder / "conditions.json").write_text(json.dumps(conditions))
    table = {
        "request": list(range(len(tokens))),
        "tokens": tokens,
        "gaps": gaps or [[1.0] * len(answer) for answer in tokens],
    }
    pq.write_table(pa.table(table), folder / "tokens.parquet")
    return name, folder

  return run


def test_simulated_runs_have_nothing_to_prove(make):
  assert proof([make("a", [[1]], kind="simulated")]) == ""


def test_a_row_a_run(make):
  text = proof([make("a", [[1]]), make("b", [[1]], verified_tokens=0)])
  a, b = text.splitlines()[3:5]
  assert a.split() == ["a", "25.0", "7", "0", "0", "0.50", "10", "of", "10"]
  assert b.endswith("not verified")


def test_equal_tokens(make):
  text = proof([make("a", [[1, 2], [3]]), make("b", [[1, 2], [3]])])
  assert text.endswith("Tokens of b and a: 2 of 2 requests identical")


def test_answers_may_part_at_a_tie(make):
  ours = make("a", [[1, 2, 3], [3]], [[1.0, 1e-6, 1.0], [1.0]])
  text = proof([ours, make("b", [[1, 9, 9], [3]])])
  assert text.endswith(
      "1 of 2 requests identical, 1 part at a tie (1 tokens after it not"
      " compared)"
  )


def test_a_difference_is_shouted(make):
  text = proof([make("a", [[1, 2]]), make("b", [[1, 9]])])
  assert text.endswith("0 of 1 requests identical, 1 DIFFER")


def test_only_runs_that_must_agree_are_compared(make):
  runs = [
      make("a", [[1]]),
      make("chips", [[1]], contract={"chips": 2}.items()),
      make("dtype", [[1]], contract={"dtype": "bfloat16"}.items()),
  ]
  text = proof(runs)
  assert "Tokens of chips and a" in text and "Tokens of dtype" not in text
