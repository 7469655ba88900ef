"""Something pending that is neither a run's end nor part of a transfer."""

import dataclasses
from typing import Any


@dataclasses.dataclass(slots=True, eq=False)
class Timer:
  """What comes when its time has come, whatever happens before."""

  coming: Any
  """The event, or a sign of a backend's own."""
  awaited: int = -1
  """Which of the backend's pending events it is."""
