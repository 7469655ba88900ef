"""Whether more requests came than were served: a queue that keeps growing.

Under its capacity a system's queue wanders and comes back; above it the queue
grows with every arrival. At capacity the number of arrivals in some time is
still uncertain by its square root (Poisson), and the queue grows by about as
much. So growth counts as growth above `FACTOR` square roots.
"""

import numpy as np

FACTOR = 2.0


def grew(
    arrival_ns: np.ndarray,
    left_ns: np.ndarray,
    begin_ns: int,
    end_ns: int,
) -> bool:
  """Whether the queue grew between two times by more than chance explains.

  Args:
    arrival_ns: of all requests.
    left_ns: when each left the queue; requests that never did are left out.
    begin_ns: no earlier than the end of the ramp.
    end_ns: no later than the last arrival: then a queue drains.
  """
  between = [
      int(((times > begin_ns) & (times <= end_ns)).sum())
      for times in (arrival_ns, left_ns)
  ]
  return between[0] - between[1] > FACTOR * between[0] ** 0.5
