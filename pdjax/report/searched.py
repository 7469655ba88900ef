"""What a search for the highest rate within the SLO found: `search.json`.

Its verdict stands as it was written (docs/experiments.md); nothing is judged
here.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pdjax.report.chart import Axis, Chart, Limit, Line, Panel, array

Told = Mapping[str, Any]
_SHOWN = ("rival", "family", "design")
_SHOWN_OF_BRACKET = ("low_per_chip", "high_per_chip", "stopped", "reason")
_ENDS = (("low_per_chip", "passed"), ("high_per_chip", "failed"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Search:
  """A search as the page shows it."""

  headline: str
  caveats: tuple[str, ...]
  rivals: tuple[Told, ...]
  chart: Chart
  significant: bool
  fidelity: str = ""
  """How far the costs of a simulated search can be trusted."""


def search_of(told: Told) -> Search | None:
  """None where the file holds no search.

  Raises:
    ValueError: it is of another shape than a search writes it.
  """
  try:
    return _search(told)
  except (
      AttributeError, KeyError, TypeError, ValueError, OverflowError
  ) as error:
    raise ValueError(
        f"not as a search writes it ({type(error).__name__}: {error})"
    ) from error


def _search(told: Told) -> Search | None:
  rivals = [one for one in told.get("rivals") or () if one.get("bracket")]
  if not rivals:
    return None
  for one in rivals:
    _check(one)
  verdict = told.get("verdict") or {}
  lines = str(verdict.get("text") or told.get("no_verdict") or "No verdict.")
  return Search(
      headline=lines, caveats=tuple(map(str, verdict.get("caveats") or ())),
      rivals=tuple(rivals), chart=_chart(told, rivals),
      significant=bool(verdict.get("significant")),
      fidelity=str(verdict.get("fidelity") or ""),
  )


def _check(rival: Told) -> None:
  """Raises what a page would, where a rival lacks what a page shows."""
  for tree, names in ((rival, _SHOWN), (rival["bracket"], _SHOWN_OF_BRACKET)):
    for name in names:
      _ = tree[name]
  _ = (rival["design"] or {}).items()


def _finite(value: Any) -> float:
  if not np.isfinite(number := float(value)):
    raise ValueError(f"{number} is no rate")
  return number


def _chart(told: Told, rivals: Sequence[Told]) -> Chart:
  """Attainment at every rate tried, and the bracket that it left."""
  level = _level(told)
  return Chart(
      name="search", kind=str(told.get("kind", "")), title="Search",
      answers="Up to which rate per chip does each rival keep the SLO?",
      panels=tuple(
          _panel(style, rival, level) for style, rival in enumerate(rivals)
      ),
      notes=(
          "Hollow points are undecided. Dotted lines are the bracket: the"
          " highest rate that passed and the lowest that failed.",
      ),
  )


def _level(told: Told) -> float:
  slo = told.get("slo") or (told.get("contract") or {}).get("slo") or {}
  return 100 * float(slo.get("attainment", float("nan")))


def _panel(style: int, rival: Told, level: float) -> Panel:
  probes = [one for one in rival.get("probes") or () if one.get("attainment")]
  bracket = rival["bracket"]
  limits = [
      Limit(along="x", at=_finite(bracket[key]), label=label)
      for key, label in _ENDS
      if bracket.get(key) is not None
  ]
  if np.isfinite(level):
    limits.append(Limit(along="y", at=level, label=f"{level:.0f} %"))
  return Panel(
      title=str(rival["rival"]), x=Axis(label="offered requests/s/chip"),
      y=Axis(label="requests that kept the SLO (%)", low=0, high=103),
      marks=(_line(style, rival, probes),), limits=tuple(limits),
      empty="" if probes else "no rate has an attainment",
  )


def _line(style: int, rival: Told, probes: Sequence[Told]) -> Line:
  def share(key: str) -> np.ndarray:
    return 100 * array([one["attainment"].get(key) for one in probes])

  return Line(
      label=str(rival["rival"]), style=style, joined=False,
      x=array([_finite(one["rate_per_chip"]) for one in probes]),
      y=share("estimate"),
      low=share("low"), high=share("high"),
      hollow=np.array([one.get("verdict") == "undecided" for one in probes]),
      texts=tuple(str(one.get("verdict", "")) for one in probes),
  )
