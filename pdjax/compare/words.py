"""A comparison in words, at most 96 columns wide."""

from collections.abc import Iterator

from pdjax.compare.claimwords import about
from pdjax.compare.designs import designs
from pdjax.compare.refusals import nothing_in_common, refusal
from pdjax.compare.sides import seeds_word
from pdjax.compare.table import ratios
from pdjax.compare.verdict import Verdict
from pdjax.report.heading import heading, wrapped


def words(found: Verdict) -> str:
  """Who is compared, under what conditions, and the ratios or why none."""
  parts = [
      "\n".join(_who(found)),
      "\n".join(_conditions(found)),
      "\n".join(designs(found.a, found.b)),
      "\n".join(_result(found)),
  ]
  return "\n\n".join(filter(None, parts))


def _who(found: Verdict) -> Iterator[str]:
  for side, rival in (("A", found.a), ("B", found.b)):
    yield from wrapped(
        f"{side}  {rival.label}  ({rival.kind}; {rival.source}"
        f"{seeds_word(rival)})"
    )


def _conditions(found: Verdict) -> Iterator[str]:
  rivals = [r for r in (found.a, found.b) if r.claim is None]
  if rivals and found.agreement.agreed:
    yield heading(rivals[0].kind, [rivals[0].first])
  for claim in {r.source: r.claim for r in (found.a, found.b)}.values():
    if claim is not None:
      yield from about(claim)


def _result(found: Verdict) -> Iterator[str]:
  if not found.agreement.agreed:
    yield from refusal(found)
  elif found.empty:
    yield from wrapped(f"NO RATIO: {nothing_in_common(found)}")
  else:
    yield from ratios(found)
