"""The Mooncake format: fields, chained ids, and what is refused."""

import json

import pytest

from pdjax.workload.mooncake import Parser
from pdjax.workload.row import Row


def _line(timestamp=0, input_length=600, output_length=5, hash_ids=(0, 1)):
  return json.dumps({
      "timestamp": timestamp,
      "input_length": input_length,
      "output_length": output_length,
      "hash_ids": hash_ids,
  })


def test_milliseconds_become_picoseconds():
  assert Parser().row(_line(27_000)) == Row(
      27 * 10**12, 600, 5, (0, 1)
  )
  assert Parser().row(_line(0.5)).at_ps == 5 * 10**8


def test_fewer_ids_than_blocks_are_allowed():
  assert Parser().row(_line(hash_ids=[])).prefix_ids == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"timestamp": 0, "input_length": 1}',
         "missing output_length, hash_ids"),
        (_line("0"), "timestamp is '0', not a number"),
        (_line(-1), "timestamp is -1, not a number"),
        (_line(float("nan")), "timestamp is nan, not a number"),
        (_line(True), "timestamp is True, not a number"),
        (_line(input_length=0), "input_length is 0; at least 1"),
        (_line(output_length=-2), "output_length is -2; at least 1"),
        (_line(output_length=2.0), "output_length is 2.0, not a whole number"),
        (_line(hash_ids=[0, 1, 2]), "names 3 blocks, but input_length 600"),
        (_line(hash_ids=[-1]), "hash_ids is not a list of whole numbers"),
        (_line(hash_ids=7), "hash_ids is not a list of whole numbers"),
        (_line(hash_ids=[3, 3]), "block 3 follows 3 here and nothing in"),
    ],
)
def test_bad_rows(line, reason):
  with pytest.raises(ValueError, match=reason):
    Parser().row(line)


def test_an_id_has_one_parent_in_the_whole_trace():
  parser = Parser()
  parser.row(_line(hash_ids=[0, 1]))
  parser.row(_line(hash_ids=[0, 1]))
  with pytest.raises(ValueError, match="block 1 follows 2 here and 0 in an"):
    parser.row(_line(hash_ids=[2, 1]))
