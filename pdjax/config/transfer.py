"""How a prompt's KV cache goes from one worker to another."""

import dataclasses
from typing import Literal


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransferPlan:
  """How the pages of a prompt reach the decode worker."""

  granularity: Literal["request", "chunk", "layers"] = "request"
  """What moves in one piece: all pages of a request when its prompt is
  computed; those that each chunk fills, while the next is computed; or of each
  step's pages some layers, while the next layers are computed."""
  layers: int | None = None
  """Layers in a piece; granularity layers needs it."""
  reserve_at: Literal["prefill_end", "prefill_start", "arrival"] | None = None
  """When pages are reserved on the decode worker; with the last two no prompt
  starts without. Default prefill_end; chunk and layers:
  prefill_start."""
  direction: Literal["pull", "push"] = "pull"
  """Who fetches: any decode worker that has room takes a request, or the
  prefill worker sends it to one chosen before, and waits for that one's room.
  """
  payload: Literal["as_is", "int8"] = "as_is"
  """What goes over the link: pages as they are, or rounded to int8 with a scale
  for each token and head; then tokens are not exact."""
  staging_bytes: int | None = None
  """Most bytes of pages that are on their way from one worker at a time, as
  they travel; what is more waits for what has not landed, the oldest hand-off
  first. None: no bound."""
  verify: bool = False
  """Compares checksums of the pages at both ends (real backend)."""

  @property
  def group_layers(self) -> int:
    """Layers that move at a time while a step goes on; 0: none."""
    return self.layers or 0 if self.granularity == "layers" else 0

  @property
  def reserves_at(self) -> str:
    """`reserve_at`, or what it is if it is not said."""
    whole = self.granularity == "request"
    return self.reserve_at or ("prefill_end" if whole else "prefill_start")


WHOLE_REQUESTS = TransferPlan()
"""What is done where nothing is said."""
