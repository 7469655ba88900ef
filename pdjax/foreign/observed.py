"""What a client saw of a server: summaries, and with luck every request.

All readers of other tools' files make one of these. Nothing is derived here
that the file does not hold.

Units: `_ms` milliseconds, `_s` seconds.
"""

import dataclasses
from typing import Any

import numpy as np

MOST = 1e24
"""Beyond it nothing is a time or a count of a benchmark, in whatever unit; up
to it sums and products are finite."""
METRICS = ("ttft", "tpot", "itl", "itl_first", "e2el", "lag")


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Requests:
  """A request each, finished ones only; None where the file has no such."""

  ttft_ms: np.ndarray
  start_s: np.ndarray | None = None
  """When it was sent, or meant to be sent where the file knows that."""
  lag_ms: np.ndarray | None = None
  """From when it was meant to be sent until it was."""
  tpot_ms: np.ndarray | None = None
  e2el_ms: np.ndarray | None = None
  prompt_tokens: np.ndarray | None = None
  gaps_ms: tuple[np.ndarray, ...] | None = None
  """Between tokens, a request each."""


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Observed:
  """One benchmark."""

  source: str
  """File and tool, in words."""
  completed: int | None = None
  failed: int = 0
  figures: dict[str, float] = dataclasses.field(default_factory=dict)
  """`mean`, `p50`, `p90`, `p99` of a metric in `_ms`, by our names, such as
  `p99_ttft_ms`; what the file states."""
  requests: Requests | None = None


def number(value: Any) -> float | None:
  """A finite number of a file, else None.

  Raises:
    ValueError: one that no benchmark gives.
  """
  if isinstance(value, bool) or not isinstance(value, int | float):
    return None
  if MOST < abs(value) < np.inf:
    raise ValueError(f"a number beyond {MOST:g}")
  return float(value) if np.isfinite(value) else None
