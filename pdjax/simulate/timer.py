"""What a `Wake` leaves behind until its time has come."""

import dataclasses


@dataclasses.dataclass(slots=True, eq=False)
class Timer:
  """One of them."""

  awaited: int = -1
  """Which of the backend's pending events it is."""
