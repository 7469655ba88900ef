"""The best value of an axis that ends it is no best value yet."""

import pytest

from pdjax.search.designs import edges
from tests.search.scripted import design


def of(path, best, *values):
  designs = [design(n, **{path: v}) for n, v in enumerate(values)]
  return edges(design(9, **{path: best}), designs)


@pytest.mark.parametrize(
    ("best", "values", "lines"),
    [
        (256, (128, 256, 512), []),
        (512, (128, 256, 512), ["chunk=512 is the largest tried"]),
        (128, (128, 256, 512), ["chunk=128 is the smallest tried"]),
        (512, (128, 512, None), []),  # without a limit there is nothing beyond
        (None, (128, 512, None), []),
        (1, (1, 2), []),  # nor below 1
        (512, (512, 512), []),  # not varied
        ("a", ("a", "b"), []),
        (True, (True, False), []),
    ],
)
def test_edges_of_numbers(best, values, lines):
  assert of("chunk", best, *values) == lines


def test_each_role_is_an_axis_of_its_own():
  values = [{"P": 2, "D": 2}, {"P": 4, "D": 2}]
  assert of("tp", values[1], *values) == ["tp.P=4 is the largest tried"]


def test_rates_are_per_chip_of_all_chips():
  assert design(chips=16).rate_at(1 / 3) == 5.333
