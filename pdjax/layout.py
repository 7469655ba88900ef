"""How one worker's model lies on its chips.

Tensor parallel: each layer is cut over `tp` chips. Data parallel: `dp` groups
of `tp` chips hold the same attention and share out the sequences, each of which
is one group's alone. Expert
parallel: a layer's experts are dealt to `ep` parts of those `tp * dp` chips,
and each expert is cut over the chips of its part. Pipeline: the layers are cut
into `pp` stages of `tp * dp` chips; a step passes through them in
`microbatches` parts, so that stages work at the same time.

Workers that share nothing are no layout: they are `count` in a pool.
"""

import dataclasses


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
  """Degrees of parallelism within one worker."""

  tp: int = 1
  dp: int = 1
  ep: int = 1
  pp: int = 1
  microbatches: int = 1

  @property
  def stage_chips(self) -> int:
    """Chips that work on one layer."""
    return self.tp * self.dp

  @property
  def chips(self) -> int:
    return self.stage_chips * self.pp

  def parts(self, tokens: int) -> int:
    """Microbatches of a pass: a token cannot be cut in two.

    >>> [Layout(microbatches=4).parts(tokens) for tokens in (0, 1, 3, 9)]
    [1, 1, 3, 4]
    """
    return max(1, min(self.microbatches, tokens))

  def fullest(self, tokens: int, longest: int) -> int:
    """Of so many tokens those of the fullest data-parallel group, at least:
    the `longest` chunk of one sequence is in one of them."""
    return max(-(-tokens // self.dp), longest if self.dp > 1 else 0)

  @property
  def expert_chips(self) -> int:
    """Chips that one expert is cut over."""
    return self.stage_chips // self.ep

  def __str__(self) -> str:
    """What differs from one chip: `tp 4, pp 2`.

    >>> str(Layout(tp=4, pp=2)), str(Layout())
    ('tp 4, pp 2', 'tp 1')
    """
    fields = ((f.name, getattr(self, f.name)) for f in dataclasses.fields(self))
    said = [f"{name} {degree}" for name, degree in fields if degree > 1]
    return ", ".join(said) or "tp 1"
