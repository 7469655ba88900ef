"""What is to be said against a verdict: doubts, few seeds, other anchors."""

from collections.abc import Sequence

from pdjax.digits import plain
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.conditions import flips
from pdjax.metrics.replications import WANTED
from pdjax.metrics.trust import trust
from pdjax.report.capacity import Goodput, best_of_strategies
from pdjax.report.drawn import draw_of
from pdjax.report.study import Study
from pdjax.report.ties import passed


def reservations(study: Study, best: Sequence[Goodput]) -> list[str]:
  """What speaks against taking the best for it, a sentence each."""
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
  if len(set(map(draw_of, study.drawn))) < 2:
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
