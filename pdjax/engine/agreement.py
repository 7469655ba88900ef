"""Whether tokens are right: against a plain forward pass, and between runs.

Law 5: greedy float32 tokens do not depend on how a request was served, up to
its first tie. Where the two best scores are closer than `TIE`, rounding may
choose either.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

TIE = 1e-4
"""Scores closer than this are equal up to float32 rounding."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
  """Counts of tokens; `checked` = `equal` + `ties` + `different`."""

  requests: int = 0
  checked: int = 0
  equal: int = 0
  ties: int = 0
  """Unequal where the scores were a tie."""
  not_compared: int = 0
  """Tokens after a request's first tie, where two answers go apart."""

  @property
  def different(self) -> int:
    """Unequal tokens that no tie explains."""
    return self.checked - self.equal - self.ties

  @property
  def holds(self) -> bool:
    return not self.different

  def __add__(self, other: "Agreement") -> "Agreement":
    pairs = zip(
        dataclasses.astuple(self), dataclasses.astuple(other), strict=True
    )
    names = [field.name for field in dataclasses.fields(self)]
    return Agreement(**dict(zip(names, map(sum, pairs), strict=True)))


Answer = tuple[Sequence[int], Sequence[float]]
"""Token ids, and each one's lead over the second; NaN: it had no scores."""


def compare_answers(ours: Answer, theirs: Answer) -> Agreement:
  """One answer in two runs; a missing token counts as different.

  So does one without scores in either run, though both may have the same.

  At the first unequal token the answers go apart: it is a tie or a
  difference, and what follows is not compared. It is a tie if the lead was
  small in either run: a token just under the floor of top_k, top_p or min_p
  rivals those above it, which is seen where it is under it.

  >>> compare_answers(([5, 6, 7], [1.0, 1e-6, 1.0]), ([5, 9, 9], [1.0] * 3))
  Agreement(requests=1, checked=2, equal=1, ties=1, not_compared=1)
  """
  (our_tokens, our_gaps), (their_tokens, their_gaps) = ours, theirs
  pairs = list(zip(our_tokens, their_tokens, strict=False))
  length = max(len(our_tokens), len(their_tokens))
  leads = [min(ours, theirs, key=_lead) for ours, theirs in zip(
      our_gaps, their_gaps, strict=False
  )]
  apart = next((
      i for i, (a, b) in enumerate(pairs) if a != b or math.isnan(leads[i])
  ), len(pairs))
  if apart == length:
    return Agreement(requests=1, checked=length, equal=length)
  tie = apart < len(pairs) and leads[apart] < TIE
  return Agreement(
      requests=1, checked=apart + 1, equal=apart, ties=int(tie),
      not_compared=length - apart - 1,
  )


def unscored(gaps: Iterable[Sequence[float]]) -> int:
  """Tokens of these answers that had no scores.

  >>> unscored([[1.0, math.nan], [0.5]])
  1
  """
  return sum(math.isnan(gap) for answer in gaps for gap in answer)


def _lead(gap: float) -> float:
  """For the smaller of two: no scores are less than any."""
  return -math.inf if math.isnan(gap) else gap
