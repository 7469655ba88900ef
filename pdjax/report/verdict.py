"""Which strategy is best under a study's SLO, and how sure that is.

Each strategy counts at its own best design (`capacity`). The denominator of the
ratio is the best colocated strategy.
"""

import dataclasses
import re
from collections.abc import Sequence

from pdjax.digits import plain
from pdjax.metrics import ratios
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.conditions import flips
from pdjax.metrics.replications import WANTED
from pdjax.metrics.trust import trust
from pdjax.report.bounded import EQUAL
from pdjax.report.capacity import (
  GOODPUT,
  Goodput,
  best_of_strategies,
)
from pdjax.report.draws import OverDraws, draws_of
from pdjax.report.study import Design, Study
from pdjax.report.ties import (
  bounded_words,
  close,
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
      reservations=tuple(_reservations(study, best, said)),
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
    designs = f" of {len(study.designs)} designs" * (len(study.designs) > 1)
    return f"{first.design.label}, best{designs}: no other strategy was judged."
  words = f"{first.design.label} has the highest goodput per chip"
  if passed(study, best):
    words += " of the designs that kept the SLO"
  return f"{words}, but: {said}." if said else f"{words}."


def _equal(first: Goodput, alike: Sequence[Goodput], said: str) -> str:
  near = all(close(first, one) for one in alike)
  names = " and ".join(one.design.label for one in (first, *alike))
  how = f"to within {EQUAL:.1%}" if near else "as far as the runs tell"
  why = f" ({said})" if said else ""
  told = f"{names} are equal in goodput per chip, {how}{why}."
  return told if first.kept else f"{_MISSED} {told}"


def _reservations(
    study: Study, best: Sequence[Goodput], said: str
) -> list[str]:
  told = [
      f"{note} ({', '.join(g.design.label for g in best if g.note == note)})"
      for note in dict.fromkeys(g.note for g in best if g.note)
  ]
  told += [
      f"{one.design.label} has more good requests per chip"
      f" ({plain(one.value)}/s), but missed the SLO"
      for one in passed(study, best)
  ]
  if best[0].kept and (missed := [g for g in best if not g.kept]):
    told += [f"{one.design.strategy}: no design kept the SLO" for one in missed]
  doubted = [g.design.label for g in best if g.at.doubtful]
  if doubted:
    told.append(f"rests on flagged runs of {', '.join(doubted)}")
  seeds = min(len(each.at.runs) for each in best)
  if 1 < seeds < WANTED:
    told.append(f"{seeds} seeds; {WANTED} are wanted for a claim")
  told += _flips(study, best)
  if not draws_of(study):
    profile = study.runs[0].contract.get("cost_profile")
    told += filter(None, [trust(study.kind, profile)])
  untuned = _sole_designs(study)
  if untuned:
    told.append(f"one design only of {', '.join(untuned)}: not tuned")
  return told


def _flips(study: Study, best: Sequence[Goodput]) -> list[str]:
  """Anchors of the first token under which another strategy is the best."""
  if not study.under_load:
    return _flips_at_one_load(best)
  told = []
  for anchor in ANCHORS:
    other = best_of_strategies(study, anchor)
    if other and other[0].design.strategy != best[0].design.strategy and (
        other[0].value > 0
    ):
      told.append(
          f"with the first token out at {anchor}, {other[0].design.label} is"
          " the best: the verdict flips"
      )
  return told


def _flips_at_one_load(best: Sequence[Goodput]) -> list[str]:
  told = []
  for rival in best[1:]:
    ours, theirs = best[0].at.runs[0].summary, rival.at.runs[0].summary
    if anchors := flips(ours, theirs, "slo_attainment"):
      told.append(
          f"attainment against {rival.design.label} is in another order with"
          f" the first token out at {', '.join(anchors)}: the verdict flips"
      )
  return told


def _sole_designs(study: Study) -> list[str]:
  strategies = [design.strategy for design in study.designs]
  several = {s for s in strategies if strategies.count(s) > 1}
  if not several:
    return []
  return sorted(set(strategies) - several)
