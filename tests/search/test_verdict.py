"""Who is compared, and what is to be doubted in the ratio."""

from pdjax.search.asking import together
from pdjax.search.whole import budgets, whole
from tests.search.scripted import design, plan, rival, serve, until

CHUNKS = (128, 256, 512)


def rivals():
  """Two disaggregated ones and a colocated one, three designs each."""
  names = (("1P2D", "disaggregated"), ("2P1D", "disaggregated"),
           ("3C", "colocated"))
  return [
      rival(name, *(
          design(3 * place + n, chips=2 if name == "3C" else 1, chunk=chunk)
          for n, chunk in enumerate(CHUNKS)
      ), family=family)
      for place, (name, family) in enumerate(names)
  ]


LIMITS = [1, 2, 1, 2, 3, 1, 2, 3, 4]
"""By design; of the last three, on two chips."""


def searched(**said):
  told = []
  search = whole(rivals(), plan(**said), 200, told.append)
  return serve(search, until(LIMITS))


def test_a_family_shares_its_budget():
  assert budgets(rivals(), 200) == [100, 100, 200]
  single = [rival("a", design(0)), rival("b", design(1), family="x")]
  assert budgets(single, 200) == [None, None]
  # Two rivals of a family: there is something to choose.
  assert budgets([rival("a", design(0)), rival("b", design(1))], 50) == [25, 25]


def test_best_against_best_each_at_its_own_design():
  ended, _ = searched()
  found = ended.verdict
  assert (found.disaggregated, found.colocated) == ("2P1D", "3C")
  assert found.ratio.interval.estimate > 1.4  # 3 on 1 chip, 4 on 2
  assert [one.design.values["chunk"] for one in ended.contests] == [
      256, 256, 512
  ]


def test_caveats():
  ended, _ = searched()
  assert ended.verdict.caveats == (
      "not bracketed: 3C's chunk=512 is the largest tried",
      "1 chips against 2: compared per chip",
  )
  few, _ = searched(seeds=(0, 1, 2, 3))
  assert "4 seeds, 8 are wanted for a claim" in few.verdict.caveats


def test_without_a_rival_family_there_is_no_verdict():
  search = whole(rivals()[:2], plan(), 200, lambda text: None)
  assert serve(search, until(LIMITS))[0].verdict is None


def test_searches_go_on_side_by_side():
  def asks(names):
    got = []
    for name in names:
      got.append((yield [name])[name])
    return got

  search = together([asks("ab"), asks(""), asks("cde")])
  rounds = []
  try:
    wanted = next(search)
    while True:
      rounds.append(wanted)
      wanted = search.send({name: name.upper() for name in wanted})
  except StopIteration as end:
    assert end.value == [["A", "B"], [], ["C", "D", "E"]]
  assert rounds == [["a", "c"], ["b", "d"], ["e"]]
