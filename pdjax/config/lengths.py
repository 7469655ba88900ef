"""How long prompts and answers are."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lengths:
  """Distribution of token counts.

  fixed: `mean`. lognormal: `mean` and `cv` (coefficient of variation), cut to
  [low, high]. empirical: drawn from `values`, each with equal chance.
  """

  kind: Literal["fixed", "lognormal", "empirical"] = "fixed"
  """The law the lengths are drawn from."""
  mean: float = 512.0
  """Of the law before it is cut; a whole number when fixed."""
  cv: float = 1.0
  """Coefficient of variation: standard deviation / mean."""
  low: int = 1
  """Shorter draws are raised to this."""
  high: int | None = None
  """Longer draws are cut to this."""
  values: tuple[int, ...] = ()
  """Drawn from with equal chance."""
