"""Holding a run: nothing past the settled step until it is let go."""

import threading

from pdjax.engine.control import RunControl


def test_claims_up_to_the_limit():
  control = RunControl(2)
  assert [control.claim(wait=True) for _ in range(3)] == [True, True, False]


def test_a_run_that_has_not_begun_is_settled_at_one():
  control = RunControl(5)
  assert control.settle() == 1
  assert control.claim(wait=False)
  assert not control.claim(wait=False)


def test_issued_steps_are_past_recall():
  control = RunControl(9)
  for _ in range(3):
    control.claim(wait=True)
  assert control.settle() == 3
  assert not control.claim(wait=False)
  control.resume(4)
  assert [control.claim(wait=True) for _ in range(2)] == [True, False]


def test_a_waiting_worker_goes_on_when_let_go():
  control = RunControl(9)
  control.claim(wait=True)
  control.settle()
  claimed = []
  thread = threading.Thread(
      target=lambda: claimed.append(control.claim(wait=True))
  )
  thread.start()
  thread.join(0.05)
  assert thread.is_alive() and not claimed
  control.resume(9)
  thread.join(60)
  assert claimed == [True]


def test_a_waiting_worker_stops_when_cut_short():
  control = RunControl(9)
  control.claim(wait=True)
  settled = control.settle()
  control.resume(settled)
  assert not control.claim(wait=True)


def test_settled_steps_are_never_overtaken():
  """A worker that claims as fast as it can, settled at random moments."""
  control, issued = RunControl(100_000), []

  def work():
    while control.claim(wait=True):
      issued.append(None)

  thread = threading.Thread(target=work)
  thread.start()
  for _ in range(200):
    settled = control.settle()
    assert len(issued) <= settled
    control.resume(100_000)
  settled = control.settle()
  control.resume(settled)
  thread.join(60)
  assert len(issued) == settled
