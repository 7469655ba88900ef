"""Which design is best if the costs are off: verdicts over draws of them.

The designs of one draw share its costs, and those of one seed its requests, so
each draw and seed has an outcome of its own, in the language of the verdict on
a study: a winner, a tie, a load that bounds all, or an SLO that none keeps.
What comes out in 95 % of them holds.
"""

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from pdjax.digits import plain
from pdjax.metrics.replications import WANTED as WANTED_SEEDS
from pdjax.report.bounded import RAISE
from pdjax.report.capacity import Goodput
from pdjax.report.drawcells import (
  BOUNDED,
  MISSED,
  TIED,
  UNTOLD,
  Cell,
  cell_of,
  key_of,
  name_of,
  several_of,
  studies_by_key,
)
from pdjax.report.drawn import draw_of
from pdjax.report.groups import ReportedRun
from pdjax.report.record import Record
from pdjax.report.study import Study, designs_of, studies_of
from pdjax.report.ties import contenders

WANTED = 20
"""Draws that a verdict needs."""
DECIDED = 0.95
_MEANS = {
    TIED: f"they are {TIED} at this fidelity: no winner",
    UNTOLD: "the rates tried are too far apart to decide",
    BOUNDED: (
        "nothing is decided: all that is offered is served within the SLO, so"
        f" goodput is bounded by the load; {RAISE}"
    ),
    MISSED: (
        "nothing is decided: no design keeps the SLO at this load; lower the"
        " rate, or search for goodput"
    ),
}


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Contender:
  """A design, or a strategy at its best design of each draw."""

  name: str
  wins: int
  goodput: tuple[float, float, float]
  """Median, lowest and highest over draws and seeds, requests/s/chip."""
  kept: int
  """In how many it kept the SLO."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class OverDraws:
  """A study under drawn costs."""

  draws: int
  seeds: int
  cells: int
  """Draws times seeds, without those in which a design is missing."""
  contenders: tuple[Contender, ...]
  """Most wins first."""
  headline: str
  caveats: tuple[str, ...]
  holds: bool
  """Whether one design is the best in `DECIDED` of all."""

  @property
  def text(self) -> str:
    few = () if self.seeds >= WANTED_SEEDS else (
        f"draws are no seeds: {self.seeds} of the {WANTED_SEEDS} that are"
        " wanted for a claim",
    )
    return "; ".join((self.headline, *self.caveats, *few))


def draws_of(study: Study) -> OverDraws | None:
  """None without several draws of several designs that can be judged."""
  everyone = designs_of(study.drawn)
  if len(everyone) < 2:
    return None
  asked = sorted({key_of(run) for run in study.drawn})
  several = several_of(everyone)
  judged = {
      key: cell_of(one, several) for key, one in studies_by_key(everyone, asked)
      if len(contenders(one)) > 1
  }
  draws, seeds = ({key[at] for key in judged} for at in (0, 1))
  if len(draws) < 2:
    return None
  cells = list(judged.values())
  outcomes = Counter(cell.outcome for cell in cells)
  found = OverDraws(
      draws=len(draws), seeds=len(seeds), cells=len(cells),
      headline="", caveats=(),
      contenders=_contenders(cells, outcomes, several),
      holds=_holds(outcomes, len(cells), len(draws)),
  )
  return dataclasses.replace(
      found, headline=_headline(found, outcomes),
      caveats=tuple(_caveats(found, cells, len(asked))),
  )


def over_draws(runs: Sequence[ReportedRun]) -> str:
  """The verdict of each study with draws; empty without any."""
  records = [run for run in runs if isinstance(run, Record)]
  if not any(map(draw_of, records)):
    return ""
  studies = [s for s in studies_of(records) if s.drawn]
  found = [draws_of(study) for study in studies]
  return "\n".join(
      _of_study(one, study, len(studies))
      for one, study in zip(found, studies, strict=True) if one
  )


def _of_study(found: OverDraws, study: Study, studies: int) -> str:
  lines = [found.text] if studies == 1 else [
      f"{study.runs[0].contract['model']}, {study.runs[0].label}: {found.text}"
  ]
  lines += [
      f"  {one.name}: goodput a chip {plain(one.goodput[0])}/s in the median,"
      f" {plain(one.goodput[1])} to {plain(one.goodput[2])}"
      for one in found.contenders
  ]
  return "\n".join(lines)


def _contenders(
    cells: Sequence[Cell], outcomes: Counter[str], several: frozenset[str]
) -> tuple[Contender, ...]:
  values: dict[str, list[Goodput]] = {}
  for cell in cells:
    for one in cell.best:
      values.setdefault(name_of(one, several), []).append(one)
  return tuple(sorted((
      Contender(
          name=name, wins=outcomes[name],
          goodput=_spread([one.value for one in each]),
          kept=sum(one.kept for one in each),
      )
      for name, each in values.items()
  ), key=lambda one: -one.wins))


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
  return float(np.median(values)), min(values), max(values)


def _holds(outcomes: Counter[str], cells: int, draws: int) -> bool:
  (outcome, most), *_ = outcomes.most_common(1)
  return (
      draws >= WANTED and most >= DECIDED * cells and outcome not in _MEANS
  )


def _headline(found: OverDraws, outcomes: Counter[str]) -> str:
  told = ", ".join([
      *(f"{c.name} in {c.wins}" for c in found.contenders if c.wins),
      *(f"{each} in {outcomes[each]}" for each in _MEANS if outcomes[each]),
  ])
  several = f" x {found.seeds} seeds" if found.seeds > 1 else ""
  return (
      f"Over {found.draws} draws of the costs{several}, highest goodput a chip:"
      f" {told} of {found.cells}: {_decided(found, outcomes)}"
  )


def _decided(found: OverDraws, outcomes: Counter[str]) -> str:
  (outcome, most), *_ = outcomes.most_common(1)
  clear = most >= DECIDED * found.cells
  if clear and outcome in (BOUNDED, MISSED):
    return _MEANS[outcome]
  if found.draws < WANTED:
    return f"not decided: a verdict needs {WANTED} draws"
  if found.holds:
    return f"that {outcome} is first holds at this fidelity"
  if clear:
    return _MEANS[outcome]
  hint = f"; where the load bounds it, {RAISE}" if outcomes[BOUNDED] else ""
  return f"not decided at this fidelity{hint}"


def _caveats(
    found: OverDraws, cells: Sequence[Cell], asked: int
) -> Iterator[str]:
  if missing := asked - found.cells:
    yield f"{missing} of {asked} left out: a design is missing there"
  if some := sum(cell.passed for cell in cells):
    yield (
        f"in {some} another has more good requests per chip, but missed the SLO"
    )
