"""Loads that visit the shapes an engine may meet, so that each has a price.

Closed loops of more and more users, each with prompts and answers spread from
the shortest to the longest of a workload: one user alone shows whole prompts by
length and single decodes by context, many show batches, and what a strategy
mixes of them. A strategy that cuts prompts shows chunks by what is before them.
"""

from collections.abc import Iterator

import numpy as np

from pdjax.config import Lengths, Workload
from pdjax.workload.build import build
from pdjax.workload.workload import Workload as Load

SIZES = 6
"""Different lengths of prompts, and of answers."""
ROUNDS = 2
"""Requests of each user, at least; one user sends `SIZES`."""


def survey(load: Load, max_num_seqs: int) -> Iterator[tuple[str, Load]]:
  """(what it is, load) one after another; none exceeds the lengths of `load`.

  Args:
    load: of the run to calibrate.
    max_num_seqs: most users at a time.
  """
  pairs = [
      (request.prompt_tokens, output)
      for request, output in zip(load.requests, load.output_tokens, strict=True)
  ]
  longest = max(pairs, key=sum)
  users = 1
  while users <= max_num_seqs:
    yield f"{users} users", build(_loop(users, *longest))
    users *= 2


def _loop(users: int, prompt_tokens: int, output_tokens: int) -> Workload:
  return Workload(
      arrival="closed",
      concurrency=users,
      num_requests=max(2 * SIZES, ROUNDS * users),
      prompt=Lengths(kind="empirical", values=_spread(prompt_tokens)),
      output=Lengths(kind="empirical", values=_spread(output_tokens)),
      seed=users,
  )


def _spread(longest: int) -> tuple[int, ...]:
  """Lengths at equal ratios up to the longest."""
  shortest = min(longest, 8)
  return tuple(
      sorted({round(x) for x in np.geomspace(shortest, longest, SIZES)})
  )
