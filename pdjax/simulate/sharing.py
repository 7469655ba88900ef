"""Workers whose devices share one host: what each loses to the others.

Virtual devices on a processor share its cores, and workers on one device share
that. A pass of a worker beside k - 1 busy ones takes 1 + (k - 1) x share times
what it takes alone, and never more than k times: a share of 0 is isolation, of
1 taking turns. Passes with prompts and decodes alone differ in how well they
use the cores when nobody else does, so each has its share.
"""

import dataclasses

SHARED = ("prompt", "decode")
"""The fields of `Sharing`: kinds of passes."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Sharing:
  """By how much a pass gets longer for each other worker that is busy."""

  prompt: float = 0.0
  """Of a pass with prompts in it."""
  decode: float = 0.0
  """Of a pass of decodes alone."""

  def __post_init__(self):
    for name in SHARED:
      value = getattr(self, name)
      if not 0 <= value <= 1:
        raise ValueError(f"sharing: {name}={value}, expected 0 to 1")

  def slowdown(self, prompts: bool, busy: int) -> float:
    """Of a pass while `busy` workers are, its own among them.

    >>> Sharing(decode=0.5).slowdown(False, 3)
    2.0
    """
    return 1 + (busy - 1) * (self.prompt if prompts else self.decode)


ISOLATED = Sharing()
