"""A model's sizes as plain JSON values, and back.

Parts that a model may lack are objects or null; a way of stretching rotations
says its kind.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from pdjax.models import size_ranges
from pdjax.models.rope import Llama3Rope, YarnRope
from pdjax.models.spec import Experts, LatentAttention, ModelSpec

_ROPES = {"llama3": Llama3Rope, "yarn": YarnRope}


def plain(spec: ModelSpec) -> dict[str, Any]:
  """The sizes as JSON values."""
  found = dataclasses.asdict(spec)
  for kind, form in _ROPES.items():
    if isinstance(spec.rope_scaling, form):
      found["rope_scaling"]["kind"] = kind
  return found


def parsed(said: Mapping[str, Any]) -> ModelSpec:
  """What `plain` made them of.

  Raises:
    KeyError, TypeError, ValueError: it did not.
  """
  found = dict(said)
  sizes = {*size_ranges.WHOLE, *size_ranges.REAL} & {*found}
  wrong = [*size_ranges.mistakes({
      field: (field, found[field]) for field in sorted(sizes)
  })]
  if wrong:
    raise ValueError("; ".join(wrong))
  rope = found["rope_scaling"]
  if rope is not None:
    fields = dict(rope)
    found["rope_scaling"] = _ROPES[fields.pop("kind")](**fields)
  for name, part in (("experts", Experts), ("latent", LatentAttention)):
    if found[name] is not None:
      found[name] = part(**found[name])
  return ModelSpec(**found)
