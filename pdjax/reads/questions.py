"""What a run is, as far as its config says it."""

from collections.abc import Callable
from typing import Any

from pdjax import config
from pdjax.config import Run, parse_split
from pdjax.unknown import UNKNOWN, Withheld

NO_DEVICES = "the simulator computes no tokens and uses no devices"
ON_ITS_CHIPS = "the jax backend runs on the chips it finds"
"""Reasons of several sections: what is not `measured`, not `simulated`."""


def builtin(*kinds: str) -> Callable[[Run], bool]:
  """One of these strategies, or another than ours, which may read anything."""
  others = set(config.BUILTIN_STRATEGIES).difference(kinds)
  return lambda run: run.strategy.kind not in others


def simulated(run: Run) -> bool:
  return run.backend.kind == "simulated"


def measured(run: Run) -> bool:
  return run.backend.kind == "jax"


def users(run: Run) -> bool:
  """Whether the policy is the user's own."""
  return run.strategy.kind not in config.BUILTIN_STRATEGIES


def moves_pages(run: Run) -> bool:
  """Whether the strategy, or a user's, may hand requests over."""
  return users(run) or run.strategy.kind in config.HANDING_OVER


def hands_over(run: Run) -> bool:
  """The same, and there are workers to do it."""
  return moves_pages(run) and {"P", "D"} <= roles_of(run)


def roles_of(run: Run) -> set[str]:
  """The roles of the run's workers; empty if the split cannot be read."""
  if run.cluster.pools is not None:
    return {pool.role for pool in run.cluster.pools}
  try:
    return set(parse_split(run.cluster.split))
  except ValueError:
    return set()


def asked(question: Callable[[Run], Any], run: Run) -> Any:
  """The answer; `UNKNOWN` where it depends on what is."""
  try:
    return question(run)
  except Withheld:
    return UNKNOWN
