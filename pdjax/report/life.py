"""What a report takes from a run's log, which is read once for all figures."""

import dataclasses
from collections.abc import Mapping

from pdjax.eventfile import EventFileError
from pdjax.metrics.requests import table_of
from pdjax.metrics.weighted import Weighted
from pdjax.report.record import Record
from pdjax.schedule.replay import Diverged
from pdjax.schedule.setup import policy_of, world_of
from pdjax.timeline.activity import Activity, activity_of
from pdjax.timeline.gauges import Gauges, gauges_of
from pdjax.tracks import worker_names
from pdjax.userscode import users_code

UNREAD = "no log can be read: it is gone, too long, or another version's"
METRICS = ("ttft", "ttst", "tpot", "itl", "e2el")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Life:
  """One run along its clock."""

  record: Record
  samples: Mapping[str, Weighted]
  """Of the measured requests, nanoseconds."""
  activity: Activity
  gauges: Gauges | None = None
  """None where nobody asked, or where the scheduler does not repeat the log:
  one's own policy that has changed, or another version's run."""


def life_of(record: Record, *, gauges: bool) -> Life | None:
  """Reads a log; None where that cannot be.

  Args:
    gauges: replays it too, which takes about as long again.
  """
  try:
    log = record.log()
  except EventFileError:
    return None
  table = table_of(log, record.asked).measured()
  return Life(
      record=record,
      samples={metric: table.sample(metric) for metric in METRICS},
      activity=activity_of(log, worker_names(record.asked)),
      gauges=_gauges(record, log) if gauges else None,
  )


def _gauges(record: Record, log) -> Gauges | None:
  try:
    with users_code("strategy.kind"):
      policy = policy_of(record.asked)
    world = world_of(
        record.asked, pages_of(record, "pool_pages"),
        pages_of(record, "staging_pages"),
    )
    return gauges_of(log, policy, world)
  except (Diverged, ValueError, RuntimeError):
    return None


def pages_of(record: Record, which: str) -> list[int]:
  """Of each worker, as the run had them."""
  pools = record.conditions["design"]["pools"]
  return [pool[which] for pool in pools for _ in range(pool["count"])]
