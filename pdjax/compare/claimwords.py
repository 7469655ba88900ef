"""A published claim in words: never without its conditions and its limits."""

from collections.abc import Iterator

from pdjax.compare.sides import word
from pdjax.published.claim import Claim, Row, Value
from pdjax.report.heading import wrapped


def about(claim: Claim) -> Iterator[str]:
  """What a claim says, who says it, and what it does not say."""
  source = claim.source
  yield from wrapped(f"PUBLISHED, {claim.claim_type}: {claim.claim}")
  yield from wrapped(
      f"  {source['title']}, {source['where']}; {source['grade']};"
      f" {source['url']}; checked {source['date_checked']} against"
      f" {source['checked_against']}"
  )
  for title, lines in (
      ("under", claim.conditions),
      ("not told", claim.unknowns),
      ("does not support", claim.does_not_support),
  ):
    for line in lines:
      yield from wrapped(f"  {title}: {line}")


def card(claim: Claim) -> Iterator[str]:
  """A claim by itself: rows, ratios and all that `about` says."""
  yield from about(claim)
  for row in claim.rows:
    yield from wrapped(f"  row {row.label}: {_row(row)}")
  for ratio in claim.ratios:
    note = f" ({ratio.note})" if ratio.note else ""
    yield from wrapped(
        f"  {ratio.figure}: {ratio.of} / {ratio.to} = {_times(ratio.value)}"
        f"{note}"
    )


def _row(row: Row) -> str:
  contract = {k: v for k, v in row.contract.items() if v is not None}
  figures = {k: _plain(v) for k, v in row.figures.items()}
  parts = [
      word(figures) if figures else "no figure of its own",
      f"design: {word(row.design)}",
      f"contract: {word(contract)}",
      f"not told: {', '.join(row.unknown)}",
  ]
  return "; ".join(parts)


def _plain(value: Value) -> str:
  if isinstance(value, tuple):
    return f"{value[0]:g} to {value[1]:g}"
  return f"{value:g}"


def _times(value: Value) -> str:
  if isinstance(value, tuple):
    return f"{value[0]:g}x to {value[1]:g}x"
  return f"{value:g}x"
