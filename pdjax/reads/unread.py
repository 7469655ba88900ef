"""Fields that were said and are never read."""

from collections.abc import Iterable, Iterator

from pdjax.config import Run
from pdjax.reads import (
    backend,
    cluster,
    engine,
    faults,
    model,
    sampling,
    slo,
    strategy,
    workload,
)
from pdjax.reads.questions import asked
from pdjax.reads.rule import Rule

_RULES = tuple(
    rule
    for section in (
        backend, model, cluster, strategy, workload, slo, sampling, engine,
        faults,
    )
    for rule in section.RULES
)


def vain(run: Run, said: Iterable[str]) -> dict[str, str]:
  """The fields among `said` that the run never reads, and why."""
  result: dict[str, str] = {}
  for path in said:
    for rule in (*_RULES, *_own_chip(path)):
      if _within(path, rule.paths) and asked(rule.when, run) is False:
        result.setdefault(path, rule.reason)
  return result


def unit(path: str) -> str:
  """What is read or not as one: of a chip of one's own all its figures."""
  names = path.split(".")
  return ".".join(names[:3] if path.startswith(_OWN_CHIPS) else names)


_OWN_CHIPS = "cluster.chips."


def _own_chip(path: str) -> Iterator[Rule]:
  """A chip of one's own is read where a worker is said to run on it."""
  if not path.startswith(_OWN_CHIPS):
    return
  name = unit(path).removeprefix(_OWN_CHIPS)

  def runs_on_it(run: Run) -> bool:
    shared = run.cluster.chip
    on = {pool.chip or shared for pool in run.cluster.pools or ()} or {shared}
    # A name with a dot in it looks like a figure of another.
    return any(f"{chip}.".startswith(f"{name}.") for chip in on)

  yield Rule((unit(path),), runs_on_it, "no worker runs on this chip")


def _within(path: str, heads: tuple[str, ...]) -> bool:
  return any(path == head or path.startswith(head + ".") for head in heads)
