"""What is wrong with a config's `faults`: checks for `pdjax.checks`."""

from collections.abc import Iterator

from pdjax import config, ranges
from pdjax.config import Run
from pdjax.reads import resolved
from pdjax.unknown import told

_COLOCATED = tuple(
    kind for kind in config.BUILTIN_STRATEGIES
    if kind not in config.HANDING_OVER
)


def shares(run: Run) -> Iterator[str]:
  faults = run.faults
  total = sum(getattr(faults, f"{harm}_share") for harm in ranges.HARMS)
  if total > 1:
    yield (
        "faults.drop_share: the shares of drop, delay, corrupt and slow sum to"
        f" {total:g}; a transfer meets one at most, so at most 1"
    )


def one_by_one(run: Run) -> Iterator[str]:
  for index, fault in enumerate(run.faults.events):
    place = f"faults.events[{index}]"
    yield from told(lambda run, f=fault, at=place: _fault(run, f, at), run)


def _fault(run: Run, fault: config.Fault, place: str) -> Iterator[str]:
  """Says when and whom, and nothing that its kind does not read."""
  transfer = fault.kind.startswith("transfer_")
  loss = fault.kind == "worker_lost"
  colocated = run.strategy.kind in _COLOCATED
  if transfer and colocated:
    yield f"{place}.kind: {run.strategy.kind} has no transfers"
  if fault.state in ("handoff", "transfer") and colocated:
    yield (
        f"{place}.state: no request is in {fault.state!r} with"
        f" {run.strategy.kind}"
    )
  if transfer and (fault.at_s is None) == (fault.request is None):
    yield f"{place}: {fault.kind} needs at_s or request, one of them"
  if not transfer and (fault.at_s is None) == (fault.state is None):
    yield f"{place}: {fault.kind} needs at_s or state, one of them"
  if fault.state is not None and fault.request is None:
    yield f"{place}.request: say whose state it is"
  if loss and fault.at_s is not None and fault.worker is None:
    yield f"{place}.worker: say which is lost at that time"
  if not transfer and not loss and fault.request is None:
    yield f"{place}.request: say whose; {fault.kind} is of a request"
  requests = resolved(run).workload.num_requests
  request = fault.request
  if request is not None and requests is not None and request >= requests:
    yield (
        f"{place}.request: there is no request {request}; allowed: 0 to"
        f" {requests - 1}"
    )
  yield from _said_in_vain(fault, place, transfer, loss)
  workers = sum(pool.count for pool in config.pools_of(run))
  if fault.worker is not None and fault.worker >= workers:
    yield (
        f"{place}.worker: there is no worker {fault.worker}; allowed: 0 to"
        f" {workers - 1}"
    )


def _said_in_vain(
    fault: config.Fault, place: str, transfer: bool, loss: bool
) -> Iterator[str]:
  """Fields of a fault that its kind has no use for."""
  vain = {
      "state": transfer and fault.state is not None,
      "times": not transfer and fault.times != 1,
      "worker": not loss and fault.worker is not None,
      "down_s": not loss and fault.down_s is not None,
      "request": loss and fault.at_s is not None and fault.request is not None,
  }
  for name, said in vain.items():
    if said:
      yield f"{place}.{name}: {fault.kind} does not use it"
