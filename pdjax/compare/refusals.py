"""Why no ratio is formed, and what would have to be overlooked."""

from collections.abc import Iterator, Sequence

from pdjax.compare.agreement import KIND, UNKNOWN, Agreement
from pdjax.compare.rival import Rival
from pdjax.compare.sides import indented, two
from pdjax.compare.verdict import Verdict, in_common
from pdjax.report.heading import wrapped


def refusal(found: Verdict) -> Iterator[str]:
  """What stands between the rivals."""
  agreement = found.agreement
  if agreement.never:
    yield from wrapped(
        f"NO RATIO: A is {found.a.kind}, B is {found.b.kind}; simulated figures"
        " are never divided by others, whatever is allowed"
    )
    return
  yield "NO RATIO: the contracts differ"
  yield from _named(agreement, agreement.obstacles)
  if in_common(found.a, found.b):
    yield from _hints(found)
  else:
    yield from indented(
        f"nothing can be divided, whatever is allowed:"
        f" {nothing_in_common(found)}"
    )


def overlooked(found: Verdict) -> Iterator[str]:
  """What was allowed to differ; nothing if nothing was needed."""
  fields = found.agreement.overlooked
  if fields:
    yield "ALLOWED: no fair ratio, these conditions differ or are not told"
    yield from _named(found.agreement, fields)


def nothing_in_common(found: Verdict) -> str:
  """That there is no figure of both, and which there are."""
  sides = (f"A has {_figures(found.a)}", f"B has {_figures(found.b)}")
  names = dict.fromkeys(
      rival.claim.name for rival in (found.a, found.b)
      if rival.claim is not None and rival.claim.ratios
  )
  shown = "".join(
      f"; `python -m pdjax.compare {name}` shows its ratios" for name in names
  )
  return f"no figure in common. {'; '.join(sides)}{shown}"


def _figures(rival: Rival) -> str:
  if rival.claim is None:
    return "those of docs/metrics.md"
  return ", ".join(rival.first.summary) or "none of its own, only ratios"


def _named(agreement: Agreement, fields: Sequence[str]) -> Iterator[str]:
  for field in fields:
    if field == KIND:
      yield from two(field, *agreement.kinds)
    elif field in agreement.differing:
      yield from two(field, *agreement.differing[field])
  untold = [field for field in fields if field in agreement.unknown]
  if untold:
    yield from indented(f"not told by the source: {', '.join(untold)}")


def _hints(found: Verdict) -> Iterator[str]:
  obstacles = found.agreement.obstacles
  if not (found.a.claim or found.b.claim or found.seeds):
    yield from indented("the rivals have no workload.seed in common")
  if "first_token_anchor" in found.agreement.differing:
    yield from indented(
        "TTFT and TPOT under one anchor, such as p50_ttft_first_decode_ms,"
        " stand in both rows whatever the runs released at"
    )
  told = [f for f in obstacles if f not in found.agreement.unknown]
  untold = [UNKNOWN] if len(told) < len(obstacles) else []
  yield from indented(
      f"--allow={','.join([*told, *untold])} divides all the same, and says so"
  )
