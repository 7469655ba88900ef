"""What a service owes its requests."""

import dataclasses
from typing import Literal

RELATIVE_SLOS = ("splitwise",)
"""Values of `slo.preset` whose terms are slowdowns."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class SLO:
  """Service-level objective; see docs/metrics.md.

  A term is (metric, statistic, scope, limit in seconds), for instance
  ("ttft", "value", "request", 0.4) or ("itl", "p99", "run", 0.1).
  """

  preset: str | None = None
  """A published SLO, by its name in `pdjax.metrics.slopresets`."""
  terms: tuple[tuple[str, str, str, float], ...] = ()
  """(metric, statistic, scope, limit in seconds) each."""
  slowdowns: tuple[tuple[str, str, str, float], ...] = ()
  """(metric, statistic, scope, factor) each: a limit is the factor times the
  metric's value in `slo.unloaded_s`."""
  unloaded_s: dict[str, float] = dataclasses.field(default_factory=dict)
  """By metric, the latency of a request alone in a system of reference, one and
  the same for all rivals."""
  join: Literal["all", "each"] = "all"
  """A good request keeps all terms, or each term has its own share."""
  ttft_s: float | None = None
  """Shorthand for ("ttft", "value", "request", ttft_s)."""
  tpot_s: float | None = None
  """Shorthand for ("tpot", "value", "request", tpot_s)."""
  attainment: float = 0.9
  """Share of requests that must be good."""
