"""How much of a run's beginning is not like the rest.

A run starts with an empty cluster, so its first requests fare better than
later ones. MSER-5 finds where that ends: with values averaged in fives, the
cut that makes the standard error of the mean of what remains smallest. A cut
in the second half means that the run has no part to trust. White, Cobb and
Spratt, "A comparison of five steady-state truncation heuristics for
simulation", WSC 2000.
"""

import numpy as np

GROUP = 5


def mser5(values: np.ndarray) -> int | None:
  """Leading values to drop; None when the rest would be less than half.

  Args:
    values: one figure of each request, in order of arrival.
  """
  count = len(values) // GROUP
  if count < 2:
    return None
  means = np.asarray(values[: count * GROUP], np.float64)
  means = means.reshape(count, GROUP).mean(axis=1)
  # Sums over what remains after dropping 0, 1, 2 ... groups.
  left = np.arange(count, 1, -1)
  total, squares = (np.cumsum(x[::-1])[::-1][:-1] for x in (means, means**2))
  error = (squares - total**2 / left) / left**2
  cut = int(np.argmin(error[: max(1, count - GROUP)]))
  return None if cut > count // 2 else cut * GROUP
