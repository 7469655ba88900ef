"""A comparison in words, at most 96 columns wide."""

from collections.abc import Iterator

from pdjax.compare.claimwords import about
from pdjax.compare.refusals import refusal
from pdjax.compare.rival import Rival
from pdjax.compare.sides import indented, seeds_word, short, two, word
from pdjax.compare.table import ratios
from pdjax.compare.verdict import Verdict
from pdjax.report.heading import heading, wrapped


def words(found: Verdict) -> str:
  """Who is compared, under what conditions, and the ratios or why none."""
  parts = [
      "\n".join(_who(found)),
      "\n".join(_conditions(found)),
      "\n".join(_designs(found)),
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


def _designs(found: Verdict) -> Iterator[str]:
  """Both designs: what differs in two lines a field, what does not in one."""
  yield "designs"
  a, b = found.a.design, found.b.design
  fields = list(dict.fromkeys([*a, *b]))
  told = [f for f in fields if not a.get(f) == b.get(f)]
  for field in told:
    yield from two(field, a.get(field), b.get(field))
  shared = [
      f"{field} {word(short(a[field]))}" for field in fields
      if field not in told and a.get(field) is not None
  ]
  if shared:
    yield from indented(f"both: {'; '.join(shared)}")


def _result(found: Verdict) -> Iterator[str]:
  if not found.agreement.agreed:
    yield from refusal(found)
  elif found.empty:
    yield from wrapped(
        "NO RATIO: no figure in common."
        f" A has {_figures(found.a)}; B has {_figures(found.b)}"
    )
  else:
    yield from ratios(found)


def _figures(rival: Rival) -> str:
  if rival.claim is None:
    return "those of docs/metrics.md"
  return ", ".join(rival.first.summary) or "none of its own, only ratios"
