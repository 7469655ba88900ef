"""Whatever a policy does wrong is told as its own fault, in one line."""

import re

import numpy as np
import pytest

from pdjax.events import Preempt, Reserve, Step, Wake, Woke
from pdjax.schedule.batching import admit, candidates, make_room
from pdjax.schedule.decisions import PolicyFault
from pdjax.schedule.loop import FRUITLESS_WAKES, Stalled
from pdjax.schedule.policies import Composed
from pdjax.schedule.setup import placement_of
from pdjax.schedule.world import IllegalCommand
from tests.laws.cluster import load_of, run_config, serve_load

RUN = run_config("continuous")
LOAD = load_of((0, 40, 8), (5, 30, 8))


def serve_by(rule):
  """Serves with a generator function as the batching rule."""
  rule_object = type("Rule", (), {"batch": staticmethod(rule)})()
  return serve_load(RUN, LOAD, Composed(placement_of(RUN), rule_object))


def told(error, rule):
  """What serving by a rule says; in one line, which names this file."""
  with pytest.raises(error) as caught:
    serve_by(rule)
  message = str(caught.value)
  assert "\n" not in message
  place = re.match(r"tests/schedule/test_decisions\.py:(\d+): ", message)
  assert place, message
  return int(place[1]), message[place.end() :]


def line_of(rule, offset):
  return rule.__code__.co_firstlineno + offset


def test_an_exception_names_its_line():
  def rule(worker, world):
    yield from make_room(worker)
    worker.nothing_of_the_kind  # noqa: B018

  line, what = told(PolicyFault, rule)
  assert line == line_of(rule, 2)
  assert what.startswith("AttributeError: 'Worker' object has no attribute")


def test_an_exception_within_a_library_names_the_line_that_called_it():
  def rule(worker, world):
    yield Wake(world.now_ps + 1)
    np.zeros(3).reshape(2, 2)

  line, what = told(PolicyFault, rule)
  assert line == line_of(rule, 2) and what.startswith("ValueError: cannot")


def test_a_misuse_of_the_package_names_the_users_line():
  def rule(worker, world):
    world.admits(worker, 3)
    yield from ()

  line, what = told(PolicyFault, rule)
  assert line == line_of(rule, 1) and "AttributeError" in what


def test_a_refused_command_names_the_line_that_yielded_it():
  def rule(worker, world):
    yield Wake(world.now_ps + 1)
    yield Step(worker.id, decode=(77,))

  line, what = told(IllegalCommand, rule)
  assert line == line_of(rule, 2)
  assert what.startswith("Step(worker=0") and "77 is not ready" in what


def test_also_where_it_was_yielded_through_a_helper():
  def rule(worker, world):
    yield from admit(worker.waiting[0], worker)
    yield from admit_again(worker)

  def admit_again(worker):
    (progress,) = worker.prefilling.values()
    yield Reserve(progress.id, worker.id, 1)

  line, what = told(IllegalCommand, rule)
  assert line == line_of(admit_again, 2) and "already holds" in what


@pytest.mark.parametrize("thing", [3, None, "Step"])
def test_what_is_no_command_is_refused(thing):
  def rule(worker, world):
    yield thing

  assert f"{thing!r} is not a command" in told(IllegalCommand, rule)[1]


@pytest.mark.parametrize("thing", [None, 3])
def test_a_rule_that_does_not_yield_is_named(thing):
  def rule(worker, world):
    return thing

  line, what = told(PolicyFault, rule)
  assert line == line_of(rule, 0)
  assert what.endswith(f"rule returned {thing!r}: it must yield commands")


def test_so_is_a_whole_policy_that_does_not():
  class Silent:
    def decide(self, event, world): ...

  with pytest.raises(PolicyFault, match="Silent.decide returned None"):
    serve_load(RUN, LOAD, Silent())


def test_a_loop_over_candidates_that_admits_none_ends():
  def rule(worker, world):
    for _ in candidates(worker, world):
      pass
    yield from ()

  line, what = told(PolicyFault, rule)
  assert line == line_of(rule, 1)
  assert what.startswith("request 0 was offered by candidates() and not")


def test_commands_without_end_end():
  def rule(worker, world):
    while True:
      yield from admit(worker.waiting[0], worker)
      yield Preempt(0)

  line, what = told(PolicyFault, rule)
  assert line in (line_of(rule, 2), line_of(rule, 3))
  assert "commands for one event without an end, lately" in what


def test_timers_that_lead_to_nothing_end():
  def rule(worker, world):
    if worker.waiting:
      yield Wake(world.now_ps + 1)

  with pytest.raises(Stalled) as caught:
    serve_by(rule)
  assert f"{FRUITLESS_WAKES} timers in a row led to nothing, 1 requests" in (
      str(caught.value)
  )


def test_timers_beyond_the_last_request_do_not_keep_a_run_going():
  class Always(Composed):
    def decide(self, event, world):
      yield from super().decide(event, world)
      yield Wake(world.now_ps + 10**12)

  from pdjax.schedule.batching import ByWorker

  policy = Always(placement_of(RUN), ByWorker())
  log, world = serve_load(RUN, LOAD, policy)
  assert not world.unfinished and len(log.of(Woke)) < 5
