"""Values of two sides in words: what differs of them, no more."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pdjax.compare.rival import Rival
from pdjax.config import DEGREES
from pdjax.report.heading import wrapped

_LONGEST = 300


def differing(name: str, a: Any, b: Any) -> Iterator[tuple[str, Any, Any]]:
  """A field with both values, or the fields within it that differ."""
  if isinstance(a, Mapping) and isinstance(b, Mapping):
    for inner in dict.fromkeys([*a, *b]):
      if a.get(inner) != b.get(inner):
        yield from differing(f"{name}.{inner}", a.get(inner), b.get(inner))
  else:
    yield name, a, b


def word(value: Any) -> str:
  """A value of JSON without its punctuation.

  >>> word([{"role": "P", "tp": 2, "chip": None}, {"role": "D", "tp": 1}])
  'role P, tp 2 | role D, tp 1'
  """
  text = _word(value)
  return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _word(value: Any) -> str:
  if value is None:
    return "none"
  if isinstance(value, Mapping):
    told = (f"{k} {_word(v)}" for k, v in value.items() if v is not None)
    return ", ".join(told) or "none"
  if isinstance(value, Sequence) and not isinstance(value, str):
    inner = any(isinstance(item, Mapping | list | tuple) for item in value)
    return (" | " if inner else " ").join(map(_word, value)) or "none"
  return f"{value:g}" if isinstance(value, float) else str(value)


def seeds_word(rival: Rival) -> str:
  """`, seeds 0-7`; nothing of a claim."""
  seeds = sorted(rival.runs)
  if rival.claim is not None:
    return ""
  if len(seeds) == 1:
    return f", seed {seeds[0]}"
  whole = seeds == list(range(seeds[0], seeds[-1] + 1))
  shown = f"{seeds[0]}-{seeds[-1]}" if whole else ", ".join(map(str, seeds))
  return f", seeds {shown}"


def two(field: str, a: Any, b: Any) -> Iterator[str]:
  """A field of both sides, in a line each."""
  for name, ours, theirs in differing(field, a, b):
    yield from indented(f"{name:<23} A  {word(short(ours))}")
    yield from indented(f"{'':<23} B  {word(short(theirs))}")


def short(value: Any) -> Any:
  """Pools without the ways of splitting a worker that they do not use."""
  if not isinstance(value, list):
    return value
  return [
      {k: v for k, v in item.items() if k not in DEGREES or v != 1}
      if isinstance(item, Mapping) else item
      for item in value
  ]


def indented(text: str) -> Iterator[str]:
  """Lines below a title."""
  first, *rest = wrapped(text.rstrip()) or [""]
  indent = text[: len(text) - len(text.lstrip())]
  yield f"  {indent}{first.lstrip()}"
  yield from (f"    {line}" for line in rest)
