"""Goodput per chip of every design, as bars."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from pdjax.report import palette
from pdjax.report.capacity import Goodput
from pdjax.report.chart import Axis, Bars, Chart, Panel
from pdjax.report.study import Design, Study

_MOST = 24
"""Bars; more are in the table."""
_MISSED = "missed"
"""Beside the label of a design that did not keep the SLO at the one rate; in
words, since colour, hatch and outline mean other things."""
_SEARCHED = (
    "the search, above, has each rival's: of the rates that it happened to try"
    " another number would come out"
)


def chart(
    study: Study, found: Sequence[Goodput], designs: Sequence[Design], *,
    searched: bool = False,
) -> Chart:
  """Each design's goodput, the largest first.

  Args:
    found: of all designs that could be judged.
    designs: those of the line charts, which have a colour; others are grey.
    searched: a search chose the runs and says itself what they serve.
  """
  head = Chart(
      name="goodput", kind=study.kind, title="Goodput per chip", wide=True,
      answers="Which design serves the most requests per chip within the SLO?",
  )
  if searched:
    return dataclasses.replace(head, absent=_SEARCHED)
  if not found:
    why = "the runs have no SLO" if not study.slo["terms"] else (
        "the SLO could not be judged in any run"
    )
    return dataclasses.replace(head, absent=why)
  shown = sorted(found, key=lambda one: one.value, reverse=True)[:_MOST]
  styles = {design.label: design.style for design in designs}
  bars = tuple(_bar(row, one, styles) for row, one in enumerate(shown))
  what = "highest rate that kept the SLO" if study.under_load else (
      "good requests over the whole run"
  )
  missed = [not one.kept and not study.under_load for one in shown]
  panel = Panel(
      x=Axis(label=f"{what} (requests/s/chip)", low=0), marks=bars,
      y=Axis(label="", names=tuple(
          f"{one.design.label} ({_MISSED})" if wrong else one.design.label
          for one, wrong in zip(shown, missed, strict=True)
      )),
  )
  return dataclasses.replace(
      head, panels=(panel,), notes=tuple(_notes(study, found, any(missed)))
  )


def _bar(row: int, one: Goodput, styles: Mapping[str, int]) -> Bars:
  return Bars(
      label="", style=styles.get(one.design.label, palette.GREY),
      row=np.array([row]), begin=np.zeros(1), end=np.array([one.value]),
      low=np.array([one.low]), high=np.array([one.high]),
      hollow=np.array([one.at.doubtful]), texts=(
          f"{one.design.label} {one.note}".strip(),
      ),
  )


def _notes(
    study: Study, found: Sequence[Goodput], missed: bool
) -> list[str]:
  notes = []
  if missed:
    notes.append(
        f"({_MISSED}): at this rate the design did not keep the SLO; its bar"
        " counts the requests that did all the same."
    )
  if study.under_load:
    notes.append(
        "A line reaches to the lowest rate that missed the SLO; without one"
        " the SLO was kept at every rate tried."
    )
  elif any(one.bounded for one in found):
    notes.append("Lines are 95 % intervals over seeds.")
  if any(one.at.doubtful for one in found):
    notes.append("Hollow bars rest on flagged runs.")
  if len(found) > _MOST:
    notes.append(f"{len(found) - _MOST} more designs are in the table.")
  return notes
