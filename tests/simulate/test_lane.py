"""One lane: ends, cuts, steps past recall, and copies between steps.

The run of most cases: five steps of 10 ps from 100 on, ends at 110 ... 150.
"""

import pytest

from pdjax.events import Step
from pdjax.segments import Segment, elapsed_ps
from pdjax.simulate.lane import Lane, LaneRun, lengthened


def run_of(left=5, granted=5, ahead=0):
  return LaneRun(
      step=Step(0, decode=(7, 8), repeats=granted, run=3),
      started_ps=100,
      segments=(Segment(granted, 10),),
      left_tokens={7: left, 8: left + 1},
      ahead=ahead,
  )


def token_times(event):
  steps = range(1, event.steps + 1)
  return [event.started_ps + elapsed_ps(event.segments, n) for n in steps]


def test_a_run_ends_with_its_grant():
  event = run_of(left=9).ended()
  assert (event.at_ps, event.steps, event.finished) == (150, 5, ())


def test_a_run_ends_at_the_first_true_end():
  event = run_of(left=3).ended()
  assert (event.at_ps, event.steps, event.finished) == (130, 3, ((7, 3),))
  assert event.segments == (Segment(3, 10),)


@pytest.mark.parametrize(
    "now_ps, passed, steps",
    [
        (90, True, 1),  # not begun, but given to the worker
        (100, True, 1),
        (109, True, 1),
        (110, True, 2),  # its end was told: the second is in flight
        (110, False, 1),  # not yet told
        (125, True, 3),
        (149, True, 5),
    ],
)
def test_steps_past_recall(now_ps, passed, steps):
  assert run_of().past_recall(now_ps, passed) == steps
  ahead = run_of(ahead=1).past_recall(now_ps, passed)
  assert ahead == min(steps + 1, 5)


def test_past_recall_knows_nothing_of_true_ends():
  assert run_of(left=1, ahead=1).past_recall(105, True) == 2


def test_a_copy_follows_the_step_in_flight():
  run = run_of()
  assert run.add_copy(2, 100) == 220
  assert token_times(run.ended()) == [110, 120, 230, 240, 250]


def test_copies_of_one_gap_queue():
  run = run_of()
  assert run.add_copy(2, 100) == 220
  assert run.add_copy(2, 50) == 270
  assert run.add_copy(4, 1) == 120 + 150 + 20 + 1
  assert token_times(run.ended()) == [110, 120, 280, 290, 301]


def test_a_copy_after_the_last_step_delays_only_what_follows():
  lane = Lane(run=run_of())
  assert lane.copy(145, True, 100) == 250
  assert lane.run.ended().at_ps == 150
  lane.end()
  assert lane.free_ps == 250


def test_a_cut_run_still_does_the_copy_that_follows_it():
  lane = Lane(run=run_of())
  assert lane.copy(115, True, 100) == 220
  lane.run.grant(2)
  assert token_times(lane.run.ended()) == [110, 120]
  lane.end()
  assert lane.free_ps == 220


def test_a_step_dispatched_past_a_true_end_serves_the_others():
  lane = Lane(run=run_of(left=2, ahead=1))
  ended = lane.run.ended()
  assert (ended.at_ps, ended.steps) == (130, 3)
  assert ended.finished[0] == (7, 2)  # it makes no third token
  lane.end()
  assert lane.free_ps == 130


def test_no_step_is_dispatched_past_the_grant():
  lane = Lane(run=run_of(left=5, ahead=1))
  lane.end()
  assert lane.free_ps == 150


def test_a_copy_waits_for_the_step_dispatched_ahead():
  lane = Lane(run=run_of(left=2, ahead=1))
  assert lane.copy(115, True, 100) == 230
  assert token_times(lane.run.ended()) == [110, 120, 130]
  lane.end()
  assert lane.free_ps == 230


def test_copies_of_an_idle_lane_queue():
  lane = Lane(free_ps=10)
  assert lane.copy(50, True, 5) == 55
  assert lane.copy(52, True, 5) == 60
  assert lane.free_ps == 60


def test_lengthened_changes_one_step():
  segments = (Segment(2, 10, 1), Segment(3, 20, 2))
  times = [10, 11, 20, 22, 24]
  for index in range(6):
    longer = lengthened(segments, index, 100)
    expected = [t + 100 * (index == n) for n, t in enumerate(times)]
    assert [s.step_ps(i) for s in longer for i in range(s.steps)] == expected
