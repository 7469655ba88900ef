"""Points drawn from a space of fields: `sweep.sample`.

A scrambled Sobol sequence (Sobol 1967; Owen's scrambling, as
`scipy.stats.qmc.Sobol` has it) covers the space more evenly than independent
draws: each field by itself, and fields together. It is balanced for counts
that are powers of two, and longer ones begin with shorter ones.
"""

from collections.abc import Mapping
from typing import Any

from pdjax.config import ConfigError
from pdjax.fieldtypes import shown
from pdjax.sweep import axis
from pdjax.sweep.axis import Span
from pdjax.unknown import UNKNOWN

MAX_COUNT = 10_000
_BITS = 14
"""2**14 points are enough for any count."""
Space = Mapping[str, Span | tuple]
"""What to draw each field from: a span, or some values, equally often."""


def points(
    space: Space, count: int, seed: int = 0
) -> tuple[tuple[str, tuple], ...]:
  """`count` points as values by field, varied together like a zip."""
  from scipy.stats import qmc

  # `rng` is the newer name, which scipy before 1.15 does not know.
  sobol = qmc.Sobol(
      len(space), scramble=True, bits=_BITS,
      seed=seed,  # pyright: ignore[reportCallIssue]
  )
  shares = sobol.random_base2((count - 1).bit_length())[:count]
  return tuple(
      (path, tuple(_at(source, float(share)) for share in column))
      for (path, source), column in zip(space.items(), shares.T, strict=True)
  )


def source_of(path: str, said: Any, errors: list[str]) -> Span | tuple:
  """What a config says a field is drawn from: text, or a tuple of values."""
  if isinstance(said, (tuple, list, range)) and said:
    return tuple(said)
  if isinstance(said, str):
    try:
      return axis.span_of(path, said) or axis.values_of(path, said, errors)
    except ConfigError as error:
      errors += error.errors
      return (UNKNOWN,)
  errors.append(
      f"sweep.sample.fields.{path}: expected a span, such as 'log(1,64)', or a"
      f" tuple of values, got {shown(said)}"
  )
  return (UNKNOWN,)


def count_of(where: str, said: Any, errors: list[str]) -> int | None:
  """How many points; None with a line in `errors` if that is no count."""
  if isinstance(said, int) and not isinstance(said, bool):
    if 1 <= said <= MAX_COUNT:
      return said
  errors.append(
      f"{where}: expected a number of points up to {MAX_COUNT}, got"
      f" {shown(said)}"
  )
  return None


def _at(source: Span | tuple, share: float) -> Any:
  if isinstance(source, Span):
    return source.at(share)
  return source[int(share * len(source))]
