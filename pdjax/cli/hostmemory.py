"""The memory of the machine that this process runs on."""

import os
from pathlib import Path

_LIMITS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Of a container, where there is one."""


def total_bytes() -> int:
  """Physical memory, or less if a container is allowed less."""
  physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
  return min([physical, *filter(None, map(_limit_bytes, _LIMITS))])


def _limit_bytes(path: Path) -> int | None:
  try:
    text = path.read_text().strip()
  except OSError:
    return None
  return int(text) if text.isdecimal() else None
