"""Loads that visit the shapes an engine may meet, so that each has a price.

Closed loops of more and more users, each with prompts and answers spread from
the shortest to the longest of a workload: one user alone shows whole prompts by
length and single decodes by context, many show batches, what a strategy mixes
of them, and workers beside each other. A strategy that cuts prompts shows
chunks by what is before them. Between them a light load with pauses: steps
after a pause are slower than in a loop that never rests.
"""

from collections.abc import Iterator

import numpy as np

from pdjax.config import Lengths, Workload
from pdjax.workload.build import build
from pdjax.workload.workload import Workload as Load

SIZES = 6
"""Different lengths of prompts, and of answers."""
ROUNDS = 2
"""Requests of each user, at least; one user sends `SIZES` of each length."""
BUSY_SHARE = 0.3
"""Of the time of one worker, that a light load takes."""


def survey(
    load: Load, most_users: int, number: int = 0
) -> Iterator[tuple[str, Load]]:
  """(what it is, load) one after another; none exceeds the lengths of `load`.

  Args:
    load: of the run to calibrate.
    most_users: at a time.
    number: of the round; others draw other requests.
  """
  users = 1
  while users < most_users:
    yield f"{users} users", _loop(load, users, number)
    users *= 2
  yield f"{most_users} users", _loop(load, most_users, number)


def light(load: Load, request_s: float, number: int = 0) -> Load:
  """Arrivals at random, of requests that take `request_s` each when alone."""
  prompt, output = _lengths(load)
  return build(
      Workload(
          arrival="poisson", rate=BUSY_SHARE / request_s, prompt=prompt,
          output=output, num_requests=2 * SIZES, seed=1000 * number,
      )
  )


def _loop(load: Load, users: int, number: int) -> Load:
  prompt, output = _lengths(load)
  return build(
      Workload(
          arrival="closed", concurrency=users, prompt=prompt, output=output,
          num_requests=max(2 * SIZES, ROUNDS * users),
          seed=1000 * number + users,
      )
  )


def _lengths(load: Load) -> tuple[Lengths, Lengths]:
  """Of prompts and of answers, up to those of the longest request."""
  pairs = [
      (request.prompt_tokens, output)
      for request, output in zip(load.requests, load.output_tokens, strict=True)
  ]
  prompt, output = (
      Lengths(kind="empirical", values=_spread(longest))
      for longest in max(pairs, key=sum)
  )
  return prompt, output


def _spread(longest: int) -> tuple[int, ...]:
  """Lengths at equal ratios up to the longest."""
  shortest = min(longest, 8)
  return tuple(
      sorted({round(x) for x in np.geomspace(shortest, longest, SIZES)})
  )
