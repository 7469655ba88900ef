"""How far a run may go: shared by the scheduler's and a worker's thread.

The worker claims each step before it dispatches it. The scheduler may hold the
run, look at how many steps are past recall, and let it go on with a new limit.
"""

import threading


class RunControl:
  """The steps of one run that are issued, and those that may be.

  A run's first step is past recall as soon as the run exists.
  """

  def __init__(self, repeats: int):
    self._changed = threading.Condition()
    self._limit = max(1, repeats)
    self._issued = 0
    self._held_at: int | None = None
    self._stopped = False

  def claim(self, *, wait: bool) -> bool:
    """Issues the next step if the run may have one.

    Args:
      wait: while the run is held, wait for what the scheduler decides.
    """
    with self._changed:
      while wait and self._waits():
        self._changed.wait()
      if not self._may_issue():
        return False
      self._issued += 1
      return True

  def _waits(self) -> bool:
    """Whether it is for the scheduler to say if there is another step."""
    held = self._held_at is not None and not self._stopped
    return held and not self._may_issue()

  def settle(self) -> int:
    """Steps past recall. The run stays there until `resume`."""
    with self._changed:
      self._held_at = max(1, self._issued)
      return self._held_at

  def resume(self, repeats: int) -> None:
    """Lets a held run go on, to `repeats` steps in all but at least one."""
    with self._changed:
      self._limit, self._held_at = max(1, repeats), None
      self._changed.notify_all()

  def stop(self) -> None:
    """Issues no step any more, whatever the scheduler decides; but the first.
    """
    with self._changed:
      self._stopped = True
      self._changed.notify_all()

  def _may_issue(self) -> bool:
    if self._stopped and self._issued:
      return False
    held = self._held_at
    return self._issued < (self._limit if held is None else held)
