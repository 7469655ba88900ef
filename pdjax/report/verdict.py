"""Which strategy is best under a study's SLO, and how sure that is.

Each strategy counts at its own best design (`capacity`). The denominator of the
ratio is the best colocated strategy.
"""

import dataclasses
import re
from collections.abc import Sequence

from pdjax.metrics import ratios
from pdjax.report.bounded import EQUAL
from pdjax.report.capacity import (
  GOODPUT,
  Goodput,
  best_of_strategies,
)
from pdjax.report.draws import OverDraws, draws_of
from pdjax.report.reservations import reservations
from pdjax.report.study import Design, Study
from pdjax.report.ties import (
  bounded_words,
  close,
  contenders,
  equals,
  passed,
  unbeaten,
)

_MISSED = "No strategy kept the SLO at this load;"


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
  """What a reader wants to know first."""

  found: tuple[Goodput, ...]
  """Each strategy's best design, the best strategy first."""
  headline: str
  ratio: str
  """To the best colocated strategy, in words; empty without one."""
  decided: bool
  reservations: tuple[str, ...]
  searched: bool
  """Whether goodput is a rate found among several."""
  over: OverDraws | None = None
  """Draws of the costs, which the headline is about; all else is of one."""

  @property
  def designs(self) -> list[Design]:
    return [each.design for each in self.found]


def verdict_of(study: Study) -> Verdict | None:
  """None where no run could be judged: no SLO, or nothing to judge by."""
  best = best_of_strategies(study)
  if not best:
    return None
  ratio, said = _ratio(study, best)
  if unbeaten(study, best):
    said = bounded_words(study, best)
  doubted = any(found.at.doubtful for found in best[:2])
  kept = best[0].value > 0 and best[0].kept
  clear = kept and not said and not doubted and len(best) > 1
  alone = Verdict(
      found=tuple(best), ratio=ratio,
      decided=clear and not equals(study, best) and not passed(study, best),
      headline=_headline(study, best, said),
      reservations=tuple(reservations(study, best)),
      searched=study.under_load,
  )
  over = draws_of(study)
  return _over(alone, over, doubted) if over else alone


def _over(alone: Verdict, over: OverDraws, doubted: bool) -> Verdict:
  """The verdict over draws of the costs, with the doubts about one of them."""
  return dataclasses.replace(
      alone, headline=f"{over.headline}.", over=over,
      decided=over.holds and over.seeds > 1 and not doubted,
      ratio=alone.ratio and f"{alone.ratio} (the draw shown alone)",
      reservations=(*over.caveats, *alone.reservations),
  )


def _ratio(study: Study, best: Sequence[Goodput]) -> tuple[str, str]:
  """The ratio to the best colocated strategy, or of that to the runner-up, in
  words; and why it decides nothing, if so."""
  first, base = best[0], next((g for g in best if not _moves(g)), None)
  if base is None:
    return "", "no colocated strategy was run"
  if base is first:
    if len(best) == 1:
      return "", "only one strategy was run"
    base = best[1]
  if not base.value:
    return "", f"{base.design.label} had no good request"
  words, said = _compared(study, first, base)
  return f"{words} of {base.design.label}", said


def _moves(found: Goodput) -> bool:
  return found.design.disaggregated


def _compared(
    study: Study, first: Goodput, base: Goodput
) -> tuple[str, str]:
  if study.under_load:
    words, said = _of_brackets(first, base)
    return words, said or _fidelity(study, _share(first.value, base.value))
  found = ratios.paired(first.at.by_seed(GOODPUT), base.at.by_seed(GOODPUT))
  said = "" if found.significant else "not significant"
  if found.interval.low is None:
    said = "not significant: one seed gives no interval"
  return str(found), said or _fidelity(study, found.interval.estimate)


def _of_brackets(first: Goodput, base: Goodput) -> tuple[str, str]:
  """What the rates tried leave open."""
  ratio = _share(first.value, base.value)
  if ratio is None:
    return "no ratio", f"{base.design.label} kept the SLO at no rate tried"
  if not (first.bounded and base.bounded):
    return f"{ratio:.2f}x", "not bracketed"
  low, high = first.low / base.high, first.high / base.low
  words = f"{ratio:.2f}x [{low:.2f}, {high:.2f}] by the rates tried"
  return words, "" if low > 1 else "not decided: the rates are too far apart"


def _share(part: float, whole: float) -> float | None:
  return part / whole if whole > 0 else None


def _fidelity(study: Study, ratio: float | None) -> str:
  """A simulated difference within the uncertainty of what goes in."""
  profile = study.runs[0].contract.get("cost_profile") or ""
  told = re.search(r"\+-\s?(\d+) %", profile)
  if study.kind != "simulated" or told is None or ratio is None:
    return ""
  off = int(told[1])
  if 1 / (1 + off / 100) < ratio < 1 + off / 100:
    return f"not decided at this fidelity: simulated costs are +-{off} %"
  return ""


def _headline(study: Study, best: Sequence[Goodput], said: str) -> str:
  first = best[0]
  if not first.value:
    return "No strategy kept the SLO at any load tried."
  if alike := equals(study, best):
    return _equal(best[0], alike, said)
  if unbeaten(study, best):
    return f"Nothing is decided: {said}."
  if not first.kept:
    return (
        f"{_MISSED} {first.design.label} has the most good requests per chip."
    )
  if len(best) == 1:
    return _one_strategy(study, first)
  words = f"{first.design.label} has the highest goodput per chip"
  if passed(study, best):
    words += " of the designs that kept the SLO"
  return f"{words}, but: {said}." if said else f"{words}."


def _one_strategy(study: Study, first: Goodput) -> str:
  designs, alone = contenders(study), "no other strategy was judged"
  if alike := equals(study, designs):
    why = bounded_words(study, designs) if unbeaten(study, designs) else alone
    return _equal(first, alike, why)
  if unbeaten(study, designs):
    return (
        f"Nothing is decided among {len(designs)} designs:"
        f" {bounded_words(study, designs)}; {alone}."
    )
  several = f" of {len(designs)} designs" * (len(designs) > 1)
  return f"{first.design.label}, best{several}: {alone}."


def _equal(first: Goodput, alike: Sequence[Goodput], said: str) -> str:
  near = all(close(first, one) for one in alike)
  names = " and ".join(one.design.label for one in (first, *alike))
  how = f"to within {EQUAL:.1%}" if near else "as far as the runs tell"
  why = f" ({said})" if said else ""
  told = f"{names} are equal in goodput per chip, {how}{why}."
  return told if first.kept else f"{_MISSED} {told}"
