"""Names in a timeline: of its tracks, and of what happens on them.

Said once for a run's own timeline (`pdjax.timeline.perfetto`) and for the
annotations that the engine leaves in a JAX trace, so that one can be read
beside the other.
"""

from pdjax import config

TRANSFER = "transfer"
GATHER, SEND, SCATTER = STAGES = ("gather", "send", "scatter")
"""Of a transfer: off the source's pages, between meshes, into the target's."""


def worker_names(run: config.Run) -> tuple[str, ...]:
  """Role and number of each worker, as pools say it at the start."""
  pools = config.pools_of(run)
  roles = [pool.role for pool in pools for _ in range(pool.count)]
  return tuple(f"{role}{number}" for number, role in enumerate(roles))


def of_worker(name: str) -> str:
  """A worker's track.

  >>> of_worker("P0")
  'worker P0'
  """
  return f"worker {name}"


def of_link(source: str, target: str) -> str:
  """The track between two workers, by their names."""
  return f"link {source} → {target}"


def of_steps(*, prefill: bool, decode: bool) -> str:
  """Of a run of steps: `mixed` is decodes with which prompts ride along."""
  if prefill and decode:
    return "mixed"
  return "prefill" if prefill else "decode"
