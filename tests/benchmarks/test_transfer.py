"""The transfer benchmark: what each schedule exposes, against its own bound."""

import pytest

from benchmarks import transfer

SCHEDULES = transfer.schedules(32)


def test_its_schedules_differ_in_what_they_expose():
  assert [schedule.pieces for schedule in SCHEDULES] == [1, 1, 8, 2, 4]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda each: each.name)
def test_a_simulated_schedule_is_within_a_tenth_of_its_bound(schedule):
  found = transfer.exposed("simulated", schedule, 4096, 1, 0.6)
  bound_s = found.whole_s / schedule.pieces
  assert bound_s < found.median_s < 1.1 * bound_s
  assert (found.hidden_s > 0) == (schedule.pieces > 1)
  prompt_bytes = 4096 * 2 * 32 * 8 * 128 * 2
  share = schedule.staging_share
  if share is not None:
    assert found.staging_bytes == share * prompt_bytes
