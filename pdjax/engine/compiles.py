"""Counts what XLA compiles in this process, whoever asked for it.

A program taken from the persistent cache counts too: it was not ready when it
was needed.
"""

import itertools

from jax import monitoring

_EVENT = "/jax/core/compile/backend_compile_duration"

_count = 0
_next = itertools.count(1)


def _listen(event: str, duration_secs: float, **kwargs: str | int) -> None:
  global _count
  if event == _EVENT:
    _count = next(_next)


monitoring.register_event_duration_secs_listener(_listen)


def count() -> int:
  """Compilations since this module was imported, of all threads."""
  return _count
