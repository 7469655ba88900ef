"""Asked to stop, by whichever signal, a program stops in the same way."""

import contextlib
import signal
from collections.abc import Iterator

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Stopped(KeyboardInterrupt):
  """As if interrupted from the keyboard, by another signal."""

  def __init__(self, number: int):
    super().__init__(signal.Signals(number).name)
    self.number = number


def status_of(interrupt: KeyboardInterrupt) -> int:
  """The exit status that says which signal it was."""
  number = interrupt.number if isinstance(interrupt, Stopped) else signal.SIGINT
  return 128 + number


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
  """SIGTERM and SIGHUP raise `Stopped`, unless somebody has had them ignored.

  In a thread, which gets no signals, nothing changes.
  """
  before = {}
  with contextlib.suppress(ValueError):
    for number in _SIGNALS:
      if signal.getsignal(number) == signal.SIG_DFL:
        before[number] = signal.signal(number, _stop)
  try:
    yield
  finally:
    for number, handler in before.items():
      signal.signal(number, handler)


def _stop(number: int, frame: object) -> None:
  raise Stopped(number)
