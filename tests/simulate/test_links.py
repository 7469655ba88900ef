"""Links: exact times, fair shares, and an independent account of both."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pdjax.simulate.links import Link, Links
from pdjax.simulate.rates import PS_PER_S

GB = 10**9


def finish_all(links):
  done = {}
  while links.next_completion():
    at_ps, flow = links.finish()
    done[flow] = at_ps
  return done


@pytest.mark.parametrize("size_mb, ms", [(268.435456, 11), (671.08864, 27)])
def test_textbook_transfers_over_200_gb_per_s(size_mb, ms):
  """KV of 2,048 tokens of Llama-3-8B and 70B over InfiniBand HDR."""
  link = Link(200 * GB // 8)
  assert round(link.transfer_ps(round(size_mb * 1e6)) / 1e9) == ms


@given(
    size=st.integers(1, 10**12),
    bandwidth=st.integers(1, 10**12),
    latency=st.integers(0, 10**9),
    at=st.integers(0, 10**15),
)
def test_a_flow_alone_takes_what_its_link_says(size, bandwidth, latency, at):
  link = Link(bandwidth, latency)
  links = Links({0: link, 1: link})
  links.start(7, 0, 1, size, at)
  assert links.next_completion() == (at + link.transfer_ps(size), 7)


def test_two_flows_halve_the_link_and_the_rest_speeds_up():
  links = Links({0: Link(100), 1: Link(100)})
  links.start(0, 0, 1, 100, 0)
  links.start(1, 0, 1, 200, 0)
  # Both at 50 B/s for 2 s, then the second alone: 100 bytes in 1 s.
  assert finish_all(links) == {0: 2 * PS_PER_S, 1: 3 * PS_PER_S}


def test_directions_do_not_share():
  links = Links({0: Link(100), 1: Link(100)})
  links.start(0, 0, 1, 100, 0)
  links.start(1, 1, 0, 100, 0)
  assert finish_all(links) == {0: PS_PER_S, 1: PS_PER_S}


def test_shares_are_max_min_fair():
  """Three flows into worker 3 leave the fourth what worker 0 has over."""
  links = Links({n: Link(90) for n in range(5)})
  for flow, (source, target) in enumerate([(0, 3), (1, 3), (2, 3), (0, 4)]):
    links.start(flow, source, target, 60, 0)
  # 30 B/s each into 3; flow 3 gets 90 - 30 = 60 B/s, not half of 90.
  assert finish_all(links) == {
      3: PS_PER_S, 0: 2 * PS_PER_S, 1: 2 * PS_PER_S, 2: 2 * PS_PER_S,
  }


def test_latency_delays_the_start_and_holds_no_share():
  links = Links({0: Link(100), 1: Link(100, PS_PER_S), 2: Link(100)})
  links.start(0, 0, 1, 100, 0)
  links.start(1, 0, 2, 100, 0)
  # Flow 1 alone in the first second; flow 0 opens when it has ended.
  assert finish_all(links) == {1: PS_PER_S, 0: 2 * PS_PER_S}


def test_a_flow_may_start_before_another_opens():
  link = Link(100, 2 * PS_PER_S)
  links = Links({0: link, 1: link, 2: Link(100), 3: Link(100)})
  links.start(0, 0, 1, 100, 0)
  assert links.next_completion() == (3 * PS_PER_S, 0)
  links.start(1, 2, 3, 50, PS_PER_S)
  assert links.next_completion() == (3 * PS_PER_S // 2, 1)


def test_ties_fall_to_the_smaller_number():
  links = Links({n: Link(100) for n in range(4)})
  links.start(9, 0, 1, 100, 0)
  links.start(4, 2, 3, 100, 0)
  assert [links.finish()[1], links.finish()[1]] == [4, 9]


def test_more_flows_than_bytes_a_second_still_end():
  links = Links({0: Link(1), 1: Link(1)})
  for flow in range(3):
    links.start(flow, 0, 1, 1, 0)
  assert set(finish_all(links)) == {0, 1, 2}


def test_misuse_is_refused():
  links = Links({0: Link(100), 1: Link(100)})
  links.start(0, 0, 1, 100, 10)
  for bad in [(0, 0, 1, 1, 20), (1, 0, 0, 1, 20), (1, 0, 1, 0, 20),
              (1, 0, 1, 1, 9), (1, 0, 1, 1, 2 * PS_PER_S)]:
    with pytest.raises(ValueError):
      links.start(*bad)
  with pytest.raises(ValueError):
    Links({}).finish()
  with pytest.raises(ValueError):
    Link(0)


def reference(bandwidths, flows):
  """Fluid max-min sharing in exact fractions of a second, no latency."""
  left = {n: Fraction(size) for n, (_, _, size, _) in enumerate(flows)}
  now, done = Fraction(0), {}
  while left:
    open_ = [n for n in left if flows[n][3] <= now]
    rate = fair(bandwidths, {n: flows[n][:2] for n in open_})
    ahead = [flows[n][3] - now for n in left if flows[n][3] > now]
    ahead += [left[n] / rate[n] for n in open_]
    now += min(ahead)
    for n in open_:
      left[n] -= rate[n] * min(ahead)
      if not left[n]:
        done[n] = now
        del left[n]
  return done


def fair(bandwidths, flows):
  """Raises all rates together; a flow stops when an end of it is full."""
  rate = dict.fromkeys(flows, Fraction(0))
  growing = set(flows)
  while growing:
    room = {}
    for side in (0, 1):
      for worker, bandwidth in enumerate(bandwidths):
        users = [n for n in flows if flows[n][side] == worker]
        active = growing.intersection(users)
        if active:
          spare = bandwidth - sum(rate[n] for n in users)
          room[side, worker] = spare / len(active)
    step = min(room.values())
    for n in growing:
      rate[n] += step
    full = {end for end, amount in room.items() if amount == step}
    growing = {
        n for n in growing
        if not full & {(0, flows[n][0]), (1, flows[n][1])}
    }
  return rate


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(10**8, 10**10), min_size=4, max_size=4),
    st.lists(
        st.tuples(
            st.permutations(range(4)), st.integers(1, 10**9), st.integers(0, 9)
        ),
        min_size=1, max_size=8,
    ),
)
def test_agrees_with_fluid_sharing(bandwidths, drawn):
  flows = sorted(
      ((ends[0], ends[1], size, Fraction(tenth, 10))
       for ends, size, tenth in drawn),
      key=lambda flow: flow[3],
  )
  expected = reference(bandwidths, flows)
  links = Links({n: Link(b) for n, b in enumerate(bandwidths)})
  done = {}
  for number, (source, target, size, at) in enumerate(flows):
    at_ps = int(at * PS_PER_S)
    while links.next_completion() and links.next_completion()[0] <= at_ps:
      end_ps, flow = links.finish()
      done[flow] = end_ps
    links.start(number, source, target, size, at_ps)
  done |= finish_all(links)
  for number, seconds in expected.items():
    # Shares are rounded down to whole bytes a second: under 1e-7 of each.
    assert done[number] == pytest.approx(
        float(seconds) * PS_PER_S, rel=1e-6, abs=20
    )
