"""The workload as a value: its order, and a hash of its content."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdjax.request import Request
from pdjax.workload.workload import Workload, content_sha256

fields = st.tuples(
    st.integers(0, 9), st.integers(1, 9), st.integers(1, 9),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
)
contents = st.lists(fields, min_size=1, max_size=4).map(tuple)


def _hash(content):
  requests = [
      Request(
          id=id,
          arrival_ps=arrival_ps,
          prompt_tokens=prompt_tokens,
          max_tokens=9,
          prefix_ids=prefix_ids,
          prefix_block_tokens=4,
      )
      for id, (arrival_ps, prompt_tokens, _, prefix_ids) in enumerate(content)
  ]
  return content_sha256(requests, [output for _, _, output, _ in content])


@given(contents, contents)
def test_hashes_are_equal_exactly_when_contents_are(one, other):
  assert (_hash(one) == _hash(other)) == (one == other)


@pytest.mark.parametrize(
    "change",
    [
        {"arrival_ps": 1}, {"prompt_tokens": 6}, {"max_tokens": 8},
        {"prefix_ids": (1,)}, {"prefix_block_tokens": 8},
    ],
)
def test_every_field_is_in_the_hash(change):
  request = Request(id=0, arrival_ps=0, prompt_tokens=5, max_tokens=7)
  other = dataclasses.replace(request, **change)
  late = dataclasses.replace(request, deadline_ps=10**13)
  hashes = [
      content_sha256([request], [3]), content_sha256([other], [3]),
      content_sha256([request], [4]), content_sha256([late], [3]),
      content_sha256([request], [3], None, {0: 10**13}),
      content_sha256([request], [3], None, {0: 10**14}),
  ]
  assert len(set(hashes)) == len(hashes)


def test_an_id_moved_to_the_next_request_is_another_content():
  assert _hash(((0, 9, 1, (1, 2)), (0, 9, 1, ()))) != _hash(
      ((0, 9, 1, (1,)), (0, 9, 1, (2,)))
  )


def _request(id, arrival_ps):
  return Request(id=id, arrival_ps=arrival_ps, prompt_tokens=5, max_tokens=7)


@pytest.mark.parametrize(
    ("requests", "outputs"),
    [
        ((_request(0, 5), _request(1, 4)), (1, 1)),
        ((_request(1, 0),), (1,)),
        ((_request(0, 0),), (8,)),
        ((_request(0, 0),), (0,)),
        ((_request(0, 0),), (1, 1)),
    ],
)
def test_what_a_workload_cannot_be(requests, outputs):
  with pytest.raises(ValueError):
    Workload(requests, outputs, {})
