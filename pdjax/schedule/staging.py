"""The staging budget of each worker, in pages.

Pages on their way from a worker lie in staging arrays, from the copy out of its
pool until they are written into their target's. `staging_bytes` bounds them by
the bytes that travel: as int8 where they are sent so, the padding of arrays
left out, as in `moved_bytes` of the log. How many a page has only the backend
knows; the scheduler counts pages.

Units: `_bytes` bytes, `_pages` pages.
"""

from collections.abc import Iterator, Sequence

from pdjax.config import BUILTIN_STRATEGIES, Pool, Run
from pdjax.schedule.setup import worker_pools

Budgets = Sequence[int | None]
"""Pages that may be on their way from each worker; None: any number."""


def staging_pages(run: Run, sent_page_bytes: Sequence[int]) -> Budgets:
  """Whole pages in the budget, where each worker's have so many bytes."""
  budget_bytes = _budget_bytes(run)
  if budget_bytes is None:
    return [None] * len(sent_page_bytes)
  return [budget_bytes // each for each in sent_page_bytes]


def too_small(run: Run, sent_page_bytes: Sequence[int]) -> Iterator[str]:
  """A line if the budget of a worker that sends is less than one page."""
  budget_bytes = _budget_bytes(run)
  if budget_bytes is None:
    return
  for pool, each in zip(worker_pools(run), sent_page_bytes, strict=True):
    if budget_bytes < each and _sends(run, pool):
      yield (
          f"strategy.transfer.staging_bytes: {budget_bytes} is less than one"
          f" page of {run.cluster.page_tokens} tokens (cluster.page_tokens) on"
          f" its way from a worker of role {pool.role}, {each} bytes"
      )


def _budget_bytes(run: Run) -> int | None:
  plan = run.strategy.transfer
  return plan.staging_bytes if plan else None


def _sends(run: Run, pool: Pool) -> bool:
  """Whether a worker of the pool may come to hand requests over."""
  kind = run.strategy.kind
  own = kind not in BUILTIN_STRATEGIES
  return own or kind == "elastic" or pool.role == "P"
