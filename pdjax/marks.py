"""What the engine says of its work in a JAX trace (`jax.profiler`).

Names are those of the run's own timeline (`pdjax.tracks`): a track with a span
inside. Where nothing is traced, both cost a microsecond.
"""

import contextlib
from collections.abc import Iterator

from jax.profiler import TraceAnnotation


@contextlib.contextmanager
def marked(track: str, span: str, **facts: int) -> Iterator[None]:
  """What is done inside, on that track; `facts` are shown beside the span."""
  with TraceAnnotation(track), TraceAnnotation(span, **facts):
    yield
