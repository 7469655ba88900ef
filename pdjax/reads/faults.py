"""When the fields of `faults` are read."""

from pdjax.config import Run
from pdjax.ranges import HARMS
from pdjax.reads.questions import moves_pages
from pdjax.reads.rule import Rule


def _may_fail_transfer(run: Run) -> bool:
  """Whether a transfer may fail: dropped, with its worker, or found damaged."""
  plan = run.strategy.transfer
  return moves_pages(run) and (
      run.faults.hits_transfers("dropped")
      or run.faults.loses_workers
      or bool(plan and plan.verify)
  )


RULES = (
    Rule(
        tuple(f"faults.{harm}_share" for harm in HARMS),
        moves_pages,
        "only disaggregation has transfers",
    ),
    Rule(
        ("faults.delay_s",),
        lambda run: run.faults.hits_transfers("delayed"),
        "no fault delays a transfer",
    ),
    Rule(
        ("faults.slow_factor",),
        lambda run: run.faults.hits_transfers("slowed"),
        "no fault slows a transfer",
    ),
    Rule(
        ("faults.worker_down_s",),
        lambda run: run.faults.worker_up_s is not None,
        "faults.worker_up_s draws no loss of a worker",
    ),
    Rule(
        ("faults.seed",),
        lambda run: run.faults.draws,
        "nothing of the faults is drawn",
    ),
    Rule(
        ("faults.recovery", "faults.retries"),
        lambda run: _may_fail_transfer(run) or run.faults.loses_workers,
        "no fault is there to recover from",
    ),
    Rule(
        ("faults.retries",),
        lambda run: run.faults.recovery != "fail",
        "faults.recovery='fail' recovers nothing",
    ),
    Rule(
        ("faults.backoff_s",),
        lambda run: (
            run.faults.recovery == "retry" and _may_fail_transfer(run)
        ),
        "no failed transfer is sent again",
    ),
    Rule(
        ("faults.wait_s",),
        lambda run: run.faults.loses_workers,
        "no fault takes a worker",
    ),
)
