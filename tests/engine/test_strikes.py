"""Losing a worker: what its thread does, and what is believed of it."""

import queue

import pytest

from pdjax.engine.clock import Clock
from pdjax.engine.control import RunControl
from pdjax.engine.crew import Crew
from pdjax.engine.orders import (
    GatherOrder,
    Gone,
    Landed,
    Made,
    RunOver,
    ScatterOrder,
    StepOrder,
    There,
    Undone,
)
from pdjax.engine.strikes import Strikes
from pdjax.engine.tally import Tally
from pdjax.engine.worker import Worker
from pdjax.events import WorkerLost


class Pool:
  """Of a replica: only whether it is there."""

  def __init__(self):
    self.there, self.made = True, 1

  def drop(self):
    assert self.there
    self.there = False

  def renew(self):
    assert not self.there
    self.there, self.made = True, self.made + 1


@pytest.fixture(name="worker")
def _worker():
  reports = queue.SimpleQueue()
  worker = Worker(
      3, "D3", Pool(), Clock(), reports, Tally(reports),
      lambda *shipped: None, 0, None, tells=False,
  )
  yield worker
  worker.close()


def told(worker, count):
  return [worker._reports.get(timeout=10) for _ in range(count)]


def orders(life):
  """One of each kind."""
  return (
      StepOrder(7, (), (), RunControl(1), life),
      GatherOrder(8, (1,), 0, (1,), life),
      ScatterOrder(9, None, None, (1,), life),
  )


def test_a_lost_worker_does_nothing_and_says_so(worker):
  worker.lose()
  for order in orders(life=0):
    worker.submit(order)
  lost = "worker 3 was lost"
  assert told(worker, 4) == [
      Gone(3), Undone(3, 7), Landed(8, lost), Landed(9, lost)
  ]
  assert not worker.replica.there and worker.lives == 1


def test_what_was_meant_for_an_earlier_life_is_not_done(worker):
  """A scatter that is late would write into somebody else's pages."""
  worker.lose()
  worker.come_back()
  for order in orders(life=0):
    worker.submit(order)
  lost = "worker 3 was lost"
  assert told(worker, 5) == [
      Gone(3), There(3), Undone(3, 7), Landed(8, lost), Landed(9, lost)
  ]
  assert worker.replica.there and worker.replica.made == 2


def test_a_stopped_run_issues_no_step_whatever_is_decided():
  control = RunControl(9)
  assert control.claim(wait=True) and control.claim(wait=True)
  assert control.settle() == 2
  control.stop()
  assert not control.claim(wait=True)  # though it is held
  control.resume(9)
  assert not control.claim(wait=True)


def test_a_run_that_is_stopped_before_its_first_step_has_one():
  control = RunControl(9)
  control.stop()
  assert control.claim(wait=True) and not control.claim(wait=True)


class OneLoss:
  """A plan in which worker 0 is lost at 100."""

  due_ps = 100

  def take(self, requests, now_ps):
    return WorkerLost(now_ps, 0)


class Told:
  """Of a worker: what it was told."""

  def __init__(self):
    self.life, self.said = 0, []

  def lose(self):
    self.said.append("lose")


def test_steps_that_ended_too_late_are_not_believed():
  crew = Crew.__new__(Crew)
  crew.workers = [Told()]
  strikes = Strikes(OneLoss(), crew)
  control = RunControl(5)
  assert strikes.take(100, {0: control}) is None and strikes.pending
  assert control.claim(wait=True) and not control.claim(wait=True)
  over = RunOver(0, 4, 10, (50, 90, 120), (
      Made(1, [5, 6, 7], [1.0, 2.0, 3.0], False),
      Made(2, [8, 9], [1.0, 2.0], True), Made(3, [1, 2, 3], [1.0] * 3, True),
  ))
  believed = strikes.believed(over)
  assert believed is not None and believed.ends_ps == (50, 90)
  assert believed.made == (
      Made(1, [5, 6], [1.0, 2.0], False), Made(2, [8, 9], [1.0, 2.0], True),
      Made(3, [1, 2], [1.0, 1.0], False),
  )
  late = RunOver(0, 4, 95, (120,), (Made(1, [5], [1.0], True),))
  assert strikes.believed(late) is None
  elsewhere = RunOver(1, 5, 95, (120,), ())
  assert strikes.believed(elsewhere) is elsewhere
  assert strikes.gone(Gone(0), 130) == WorkerLost(130, 0)
  assert crew.workers[0].life == 1 and not strikes.pending
  assert crew.workers[0].said == ["lose"]
