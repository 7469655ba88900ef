"""Fields of a config, and when a run reads them."""

import dataclasses
from collections.abc import Callable

from pdjax.config import Run


@dataclasses.dataclass(frozen=True)
class Rule:
  """Fields (a path or the start of one) and when a run reads them."""

  paths: tuple[str, ...]
  when: Callable[[Run], bool]
  reason: str
