"""A search as `search.json` keeps it: plain values, nothing of dates or hosts.

docs/experiments.md lists every field.
"""

import collections
from collections.abc import Callable, Mapping
from typing import Any

from pdjax.metrics import replications
from pdjax.metrics.intervals import Interval
from pdjax.search.asking import Probe, Row
from pdjax.search.bracket import Bracket
from pdjax.search.contest import Contest, Plan, Seen
from pdjax.search.designs import Design
from pdjax.search.judging import confidence_of, looks
from pdjax.search.race import Tried, Tuned, frontier
from pdjax.search.verdict import Verdict, ends

_GOODPUT = "request_goodput_per_chip"


class Recorder:
  """Writes down a search, with the runs it rests on."""

  def __init__(
      self,
      plan: Plan,
      rows: Mapping[Probe, Row],
      run_of: Callable[[Probe], str],
  ):
    """Starts with nothing written.

    Args:
      plan: how it was searched.
      rows: summaries of all runs.
      run_of: names a run.
    """
    self._plan, self._rows, self._run_of = plan, rows, run_of

  def settings(self, budget: int) -> dict[str, Any]:
    plan = self._plan
    return {
        "tolerance": plan.tolerance,
        "budget": budget,
        "doublings": plan.doublings,
        "seeds": list(plan.seeds),
        "tune_seeds": list(plan.tune_seeds),
        "confidence": confidence_of(len(looks(len(plan.seeds)))),
    }

  def rival(self, one: Contest, budget: int | None) -> dict[str, Any]:
    design, low = one.design, one.at_low()
    return {
        "rival": one.rival.name,
        "family": one.rival.family,
        "design": dict(design.values),
        "chips": design.chips,
        "tuning": self._tuning(one, one.tuned, budget) if one.tuned else None,
        "bracket": _bracket(one.bracket, design, len(self._plan.seeds)),
        "attainment": of_interval(low.attainment if low else None),
        "goodput_per_chip": of_interval(self._goodput(low) if low else None),
        "doubts": self._doubts(low) if low else [],
        "probes": [
            self._probe(design, seen)
            for seen in sorted(one.seen, key=lambda seen: seen.rate)
        ],
    }

  def _tuning(
      self, one: Contest, tuned: Tuned, budget: int | None
  ) -> dict[str, Any]:
    bracket = tuned.bracket
    return {
        "designs": len(one.rival.designs),
        "runs": tuned.runs,
        "budget": budget,
        "stopped": "budget" if tuned.out_of_budget else bracket.stopped,
        "low_per_chip": bracket.low,
        "high_per_chip": bracket.high,
        "edges": ends(one),
        "probes": [self._tried(each) for each in tuned.tried],
        "frontier": [self._tried(each) for each in frontier(tuned.tried)],
    }

  def _tried(self, one: Tried) -> dict[str, Any]:
    probes = tuple(
        Probe(one.design.number, one.rate, seed) for seed in one.seeds
    )
    seen = Seen(one.rate, one.outcome, one.attainment, probes)
    return self._probe(one.design, seen)

  def _probe(self, design: Design, seen: Seen) -> dict[str, Any]:
    return {
        "rate": seen.rate,
        "rate_per_chip": seen.rate / design.chips,
        "design": dict(design.values),
        "verdict": seen.outcome,
        "attainment": of_interval(seen.attainment),
        "runs": [self._run_of(probe) for probe in seen.probes],
    }

  def _goodput(self, seen: Seen) -> Interval | None:
    values = [self._rows[probe].get(_GOODPUT) for probe in seen.probes]
    known = [value for value in values if value is not None]
    return replications.of_means(known) if len(known) == len(values) else None

  def _doubts(self, seen: Seen) -> list[str]:
    """Flags of doubtful runs at a rate, each with how many have it."""
    rows = [self._rows[probe] for probe in seen.probes]
    flags = [row.get("flags", ()) for row in rows if row.get("doubtful")]
    counts = collections.Counter(flag for each in flags for flag in each)
    return [f"{count} of {len(rows)} runs: {f}" for f, count in counts.items()]


def _bracket(bracket: Bracket, design: Design, seeds: int) -> dict[str, Any]:
  ends = {"low": bracket.low, "high": bracket.high}
  return {
      **ends,
      **{
          f"{name}_per_chip": None if rate is None else rate / design.chips
          for name, rate in ends.items()
      },
      "stopped": bracket.stopped,
      "reason": reason(bracket, seeds),
  }


def reason(bracket: Bracket, seeds: int) -> str:
  """Why a search stopped, in words."""
  match bracket.stopped:
    case "bracketed":
      assert bracket.low is not None and bracket.high is not None
      apart = bracket.high / bracket.low - 1
      return f"bracketed to {100 * apart:.1f} %"
    case "undecided":
      rates = ", ".join(f"{rate:g}" for rate in bracket.undecided)
      return f"undecided after {seeds} seeds at {rates}/s"
    case "failed":
      return f"failed: {bracket.obstacle}"
    case stopped:
      why = bracket.obstacle or f"after {len(bracket.tried)} rates"
      return f"{stopped}: {why}"


def verdict_words(found: Verdict, fidelity: str = "") -> dict[str, Any]:
  """A verdict, plainly; `fidelity`: how far its costs can be trusted."""
  return {
      "disaggregated": found.disaggregated,
      "colocated": found.colocated,
      "ratio": of_interval(found.ratio.interval),
      "rates_per_chip": {
          name: {str(seed): rate for seed, rate in rates.items()}
          for name, rates in found.rates_per_chip.items()
      },
      "significant": found.ratio.significant,
      "text": found.text,
      "caveats": list(found.caveats),
      "fidelity": fidelity,
  }


def of_interval(found: Interval | None) -> dict[str, Any] | None:
  """An interval, plainly."""
  if found is None:
    return None
  return {
      "estimate": found.estimate, "low": found.low, "high": found.high,
      "seeds": found.samples,
  }
