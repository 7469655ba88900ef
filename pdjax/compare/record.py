"""A comparison as plain JSON values, for programs."""

from typing import Any

from pdjax.compare.quotient import Quotient
from pdjax.compare.replicas import EqualTotals, Filled
from pdjax.compare.rival import Rival
from pdjax.compare.verdict import Verdict, slo_flips
from pdjax.report.draws import over_draws


def record(found: Verdict) -> dict[str, Any]:
  """Everything that the words say; ratios are B over A."""
  agreement = found.agreement
  return {
      "compared": found.compared,
      "a": _rival(found.a),
      "b": _rival(found.b),
      "never": agreement.never,
      "obstacles": agreement.obstacles,
      "overlooked": agreement.overlooked,
      "differing": {f: list(pair) for f, pair in agreement.differing.items()},
      "unknown": list(agreement.unknown),
      "seeds": found.seeds,
      "ratios": {q.figure.name: _quotient(q) for q in found.plain}
      | {
          q.figure.name: _quotient(q)
          for each in found.anchored.values() for q in each.values()
      },
      "flips": found.flips,
      "slo_flips": {"a": slo_flips(found.a), "b": slo_flips(found.b)},
      "equal_totals": _totals(found.totals),
      "over_draws": over_draws(found.drawn).splitlines(),
  }


def _rival(rival: Rival) -> dict[str, Any]:
  return {
      "label": rival.label,
      "source": rival.source,
      "kind": rival.kind,
      "chips": rival.chips,
      "seeds": [] if rival.claim else sorted(rival.runs),
      "design": rival.design,
      "published": rival.claim is not None,
  }


def _quotient(found: Quotient) -> dict[str, Any]:
  ratio = found.ratio
  row: dict[str, Any] = {
      "a": found.a, "b": found.b, "better": found.better, "span": found.span,
      "ratio": None, "low": None, "high": None, "significant": None,
      "method": None,
  }
  if ratio is None:
    return row
  interval = ratio.interval
  return row | {
      "ratio": interval.estimate, "low": interval.low, "high": interval.high,
      "significant": ratio.significant, "method": interval.method,
  }


def _totals(totals: EqualTotals | None) -> dict[str, Any] | None:
  if totals is None:
    return None
  return {
      "chips": totals.chips, "a": _filled(totals.a), "b": _filled(totals.b),
      "ratio": totals.ratio,
  }


def _filled(filled: Filled) -> dict[str, Any]:
  return {
      "replicas": filled.replicas, "idle_chips": filled.idle_chips,
      "goodput_per_s": filled.goodput_per_s,
  }
