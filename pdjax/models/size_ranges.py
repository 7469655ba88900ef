"""What each size of a model may be, wherever a file says it.

Bounds are far beyond any model; they keep a slip of the pen or a damaged file
from dividing by zero or from filling the memory. Every reader of sizes asks
here before it makes a `ModelSpec`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.fieldtypes import shown
from pdjax.ranges import MAX_TOKENS, Range

_WIDTH = Range(1, 10**6)
_TOKENS = Range(1, MAX_TOKENS)
_EXPERTS = Range(1, 10**5)
_POSITIVE = Range(0, 10**6, above=True)

WHOLE: dict[str, Range] = {
    "num_layers": Range(1, 10**4),
    "hidden_size": _WIDTH,
    "num_heads": Range(1, 10**5),
    "num_kv_heads": Range(1, 10**5),
    "head_dim": Range(2, 10**5),
    "ffn_size": Range(1, 10**7),
    "vocab_size": Range(1, 10**8),
    "max_position_embeddings": _TOKENS,
    "sliding_window": _TOKENS,
    "experts.count": _EXPERTS,
    "experts.per_token": _EXPERTS,
    "experts.ffn_size": Range(1, 10**7),
    "rope.original_context": _TOKENS,
}
REAL: dict[str, Range] = {
    "norm_eps": Range(0, 1, above=True),
    "rope_theta": Range(1, 10**12, above=True),
    "rope.factor": Range(1, 10**6),
    "rope.low_freq_factor": _POSITIVE,
    "rope.high_freq_factor": _POSITIVE,
    "rope.fast_turns": _POSITIVE,
    "rope.slow_turns": _POSITIVE,
    "rope.sharpness": _POSITIVE,
}
"""By field of `ModelSpec`; those of its parts after a dot."""

Said = Mapping[str, tuple[str, Any]]
"""By field: what the file calls it, and its value; None is not said."""


def mistakes(said: Said) -> Iterator[str]:
  """A clause for each size out of its range, and for each two that clash.

  >>> list(mistakes({"num_heads": ("n_heads", 0), "vocab_size": ("vocab", 9)}))
  ['has n_heads 0, which must be from 1 to 100000']
  """
  sound = {}
  for field, (key, value) in said.items():
    why = None if value is None else _wrong(field, value)
    if why:
      yield f"has {key} {shown(value)}, which {why}"
    elif value is not None:
      sound[field] = (key, value)
  yield from _clashes(sound)


def _wrong(field: str, value: Any) -> str | None:
  whole = field in WHOLE
  if isinstance(value, bool) or not isinstance(
      value, int if whole else int | float
  ):
    return "is no whole number" if whole else "is no number"
  allowed = WHOLE[field] if whole else REAL[field]
  return None if value in allowed else f"must be {allowed}"


def _clashes(sound: Said) -> Iterator[str]:
  """Of sizes that are right by themselves."""
  for small, large in (
      ("experts.per_token", "experts.count"),
      ("rope.slow_turns", "rope.fast_turns"),
      ("rope.low_freq_factor", "rope.high_freq_factor"),
  ):
    if {small, large} <= {*sound} and sound[small][1] > sound[large][1]:
      yield f"has {_told(sound, small)}, more than {_told(sound, large)}"
  heads, kv_heads = sound.get("num_heads"), sound.get("num_kv_heads")
  if heads and kv_heads and heads[1] % kv_heads[1]:
    yield (
        f"has {_told(sound, 'num_heads')}, no multiple of"
        f" {_told(sound, 'num_kv_heads')}"
    )
  yield from _odd_heads(sound)


def _odd_heads(sound: Said) -> Iterator[str]:
  """Rotations turn pairs; where no width is said, it is a head's share."""
  if "head_dim" in sound:
    if sound["head_dim"][1] % 2:
      yield f"has {_told(sound, 'head_dim')}, which is odd"
  elif {"hidden_size", "num_heads"} <= {*sound}:
    width = sound["hidden_size"][1] // sound["num_heads"][1]
    if width < 2 or width % 2:
      yield (
          f"has {_told(sound, 'hidden_size')} and"
          f" {_told(sound, 'num_heads')}, so heads {width} wide, which"
          " must be even and at least 2"
      )


def _told(sound: Said, field: str) -> str:
  key, value = sound[field]
  return f"{key} {shown(value)}"
