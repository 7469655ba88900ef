"""Work without garbage collection.

A log is millions of objects that all stay, and none in a cycle: looking through
them again and again finds nothing, and a pause during a measured step would be
measured as part of it.
"""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
  """Collects once, then not again until the block is left."""
  was_on = gc.isenabled()
  gc.collect()
  gc.disable()
  try:
    yield
  finally:
    if was_on:
      gc.enable()
