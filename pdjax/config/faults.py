"""What goes wrong on purpose."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Fault:
  """One thing that goes wrong: at a time, or to a request.

  A fault of transfers hits the first of `request`, or the first to begin from
  `at_s` on. The others strike at `at_s`, or as soon as `request` is in `state`.
  """

  kind: Literal[
      "transfer_dropped", "transfer_delayed", "transfer_corrupted",
      "transfer_slowed", "worker_lost", "cancelled", "deadline",
  ]
  """What goes wrong; see docs/faults.md."""
  at_s: float | None = None
  """From the start of the run."""
  request: int | None = None
  """By its number, in order of arrival from 0; of conversations all turns of
  one, then those of the next."""
  state: Literal[
      "waiting", "prefill", "handoff", "transfer", "decode"
  ] | None = None
  """Of the request."""
  worker: int | None = None
  """Which is lost, by number; None: the one where the request is, the source
  of its transfer."""
  down_s: float | None = None
  """Until a lost worker is back with an empty pool; None: it stays away."""
  times: int = 1
  """Transfers hit one after another."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Faults:
  """What goes wrong in a run on purpose, and what becomes of those it hits."""

  events: tuple[Fault, ...] = ()
  """Faults one by one."""
  drop_share: float = 0.0
  """Share of transfers whose bytes never arrive."""
  delay_share: float = 0.0
  """Share of transfers that are late by `delay_s`."""
  corrupt_share: float = 0.0
  """Share of transfers that damage a page on the way."""
  slow_share: float = 0.0
  """Share of transfers that are `slow_factor` times as long on the link."""
  delay_s: float = 0.1
  """Of a delayed transfer."""
  slow_factor: float = 10.0
  """Of a slowed transfer: how often each byte is sent."""
  worker_up_s: float | None = None
  """Mean of the exponential time until a worker is lost; None: none is."""
  worker_down_s: float = 10.0
  """Mean of the exponential time until it is back with an empty pool."""
  seed: int = 0
  """Of all that is drawn here."""
  recovery: Literal["retry", "recompute", "fail"] = "retry"
  """A failed transfer is sent again, its prompt is computed elsewhere, or its
  request fails; pages lost with a worker are computed again, or fail."""
  retries: int = 2
  """Recoveries of one request; at the next fault it fails."""
  backoff_s: float = 0.01
  """Before a transfer is tried again; doubled each time (retry)."""
  wait_s: float = 30.0
  """How long a request waits while no worker is left that could take it."""

  @property
  def anything(self) -> bool:
    """Whether anything goes wrong at all."""
    return bool(self.events) or self.draws

  @property
  def draws(self) -> bool:
    return self.worker_up_s is not None or any(self.shares.values())

  @property
  def shares(self) -> dict[str, float]:
    """Of transfers, by what is done to them."""
    return {
        "dropped": self.drop_share, "delayed": self.delay_share,
        "corrupted": self.corrupt_share, "slowed": self.slow_share,
    }

  def hits_transfers(self, kind: str) -> bool:
    """Whether this can be done to a transfer: `dropped`, for instance."""
    kinds = {fault.kind for fault in self.events}
    return self.shares[kind] > 0 or f"transfer_{kind}" in kinds

  @property
  def loses_workers(self) -> bool:
    kinds = {fault.kind for fault in self.events}
    return self.worker_up_s is not None or "worker_lost" in kinds
