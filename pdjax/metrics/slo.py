"""Service-level objectives: what is good, for a request and for a run.

A term of scope `request` judges every request by itself; with `join="all"` a
request is good when it keeps all of them (DistServe's joint SLO), with `each`
every term has its own share of good requests and the smallest counts. A term
of scope `run` bounds a statistic over the finished requests (Sarathi-Serve:
P99 of token gaps; MLPerf: P99 of TTFT and of TPOT each; Mooncake: mean of the
worst tenth of gaps). An SLO is met when enough requests are good and every
run term holds.

All that were sent are in the denominator, but for those that their clients gave
up: a request that was rejected, was late, or never finished is not good. Limits
are in seconds.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np

from pdjax.config import SLO
from pdjax.fieldtypes import near
from pdjax.metrics.percentiles import percentile
from pdjax.metrics.requests import RequestTable
from pdjax.metrics.slopresets import PRESETS

REQUEST_METRICS = ("ttft", "ttst", "tpot", "e2el", "itl_first", "itl_max")
RUN_METRICS = (*REQUEST_METRICS, "itl", "queue_prefill")
RUN_STATISTICS = ("mean", "p50", "p90", "p99", "worst10_mean", "max")
SCOPES = ("request", "run")


@dataclasses.dataclass(frozen=True, slots=True)
class Term:
  """One bound of an SLO."""

  metric: str
  statistic: str
  scope: str
  limit_s: float

  @property
  def limit_ns(self) -> float:
    return self.limit_s * 1e9

  def __str__(self) -> str:
    statistic = "" if self.scope == "request" else f"{self.statistic} "
    return f"{statistic}{self.metric} <= {self.limit_s:g} s"


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
  """How one term came out."""

  term: Term
  holds: bool | None
  """None where there is nothing to judge by: no wanted request, no value of
  requests that finished, too few values for a percentile."""
  share: float | None
  """Wanted requests that keep it; scope `request` only."""
  vacuous: int
  """Finished requests that keep it for want of a value, likewise."""
  value_s: float | None
  """The statistic; scope `run` only. None where there is no sample."""


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Verdict:
  """How an SLO came out for one run."""

  outcomes: tuple[Outcome, ...]
  good: int | None
  """Good requests; None without a request term."""
  attainment: float | None
  """good / (sent - aborted by their clients); None without a request term or
  without requests."""
  vacuous: int
  """Finished requests that kept a term for want of a second token."""
  met: bool | None
  """None without a term, or where a term that decides could not be judged."""


def terms_of(slo: SLO) -> tuple[Term, ...]:
  """All terms: those of the shorthands, of the preset, and its own."""
  terms = [
      Term(metric, "value", "request", limit_s)
      for metric, limit_s in (("ttft", slo.ttft_s), ("tpot", slo.tpot_s))
      if limit_s is not None
  ]
  published = PRESETS[slo.preset].terms if slo.preset else ()
  return (
      *terms,
      *(Term(*term) for term in (*published, *slo.terms)),
      *(
          Term(metric, statistic, scope, factor * slo.unloaded_s[metric])
          for metric, statistic, scope, factor in slowdowns_of(slo)
      ),
  )


def slowdowns_of(slo: SLO) -> tuple[tuple[str, str, str, float], ...]:
  """All terms that are relative to an unloaded latency."""
  published = PRESETS[slo.preset].slowdowns if slo.preset else ()
  return (*published, *slo.slowdowns)


def problems(slo: SLO) -> list[str]:
  """A line for each name that does not exist."""
  return [
      *preset_problems(slo.preset),
      *(
          line
          for name in ("terms", "slowdowns")
          for index, term in enumerate(getattr(slo, name))
          for line in term_problems(f"slo.{name}[{index}]", term)
      ),
      *(unloaded_problems(slo) if slo.preset in (None, *PRESETS) else ()),
  ]


def unloaded_problems(slo: SLO) -> Iterator[str]:
  """A line where a slowdown has nothing to be relative to."""
  metrics = dict.fromkeys(metric for metric, *_ in slowdowns_of(slo))
  missing = [name for name in metrics if name not in slo.unloaded_s]
  if missing:
    yield (
        f"slo.unloaded_s: needs {', '.join(missing)}, which slowdowns are"
        " relative to: seconds of a request alone, as a run with"
        " workload.num_requests=1 shows them"
    )
  for name in slo.unloaded_s:
    if name not in RUN_METRICS:
      yield _unknown("slo.unloaded_s", "metric", name, RUN_METRICS)
    elif name not in metrics:
      yield f"slo.unloaded_s.{name}: no slowdown is relative to it"


def preset_problems(name: str | None) -> Iterator[str]:
  """A line for a preset that does not exist."""
  if name is not None and name not in PRESETS:
    yield _unknown("slo.preset", "preset", name, tuple(PRESETS))


def term_problems(
    path: str, term: tuple[str, str, str, float]
) -> Iterator[str]:
  """A line for each name in a term that does not exist."""
  metric, statistic, scope, _ = term
  if scope not in SCOPES:
    yield _unknown(path, "scope", scope, SCOPES)
    return
  metrics = REQUEST_METRICS if scope == "request" else RUN_METRICS
  statistics = ("value",) if scope == "request" else RUN_STATISTICS
  if metric not in metrics:
    yield _unknown(path, f"{scope} metric", metric, metrics)
  if statistic not in statistics:
    yield _unknown(path, f"{scope} statistic", statistic, statistics)


def _unknown(path: str, kind: str, name: str, allowed: tuple[str, ...]) -> str:
  words = ", ".join(allowed)
  return f"{path}: no {kind} {name!r}; allowed: {words}{near(name, allowed)}"


def judge(table: RequestTable, slo: SLO) -> Verdict:
  """Holds a run to an SLO under the table's anchor."""
  kept, vacuous = [], np.zeros(len(table), bool)
  outcomes = []
  for term in terms_of(slo):
    if term.scope == "run":
      outcomes.append(_judge_run(table, term))
      continue
    keeps, empty = keeps_term(table, term)
    kept.append(keeps)
    vacuous |= empty
    share = _share(keeps.sum(), int(table.wanted.sum()))
    holds = _enough(share, slo)
    outcomes.append(Outcome(term, holds, share, int(empty.sum()), None))
  good = _good(kept, slo.join)
  attainment = None if good is None else _share(good, int(table.wanted.sum()))
  return Verdict(
      tuple(outcomes), good, attainment, int(vacuous.sum()),
      _met(outcomes, attainment, slo),
  )


def _met(
    outcomes: list[Outcome], attainment: float | None, slo: SLO
) -> bool | None:
  """Whether enough requests are good and every run term holds."""
  holds = [o.holds for o in outcomes if o.term.scope == "run"]
  if len(holds) < len(outcomes):
    holds.append(_enough(attainment, slo))
  if False in holds:
    return False
  return None if None in holds or not holds else True


def _enough(share: float | None, slo: SLO) -> bool | None:
  return None if share is None else share >= slo.attainment


def good_requests(table: RequestTable, slo: SLO) -> np.ndarray | None:
  """Of the wanted requests, which keep all request terms.

  None where each term is by itself.
  """
  terms = [term for term in terms_of(slo) if term.scope == "request"]
  if not terms or (slo.join == "each" and len(terms) > 1):
    return None
  kept = [keeps_term(table, term)[0] for term in terms]
  return np.logical_and.reduce(kept)[table.wanted]


def keeps_term(
    table: RequestTable, term: Term
) -> tuple[np.ndarray, np.ndarray]:
  """Which requests keep a request term, and which do so vacuously."""
  value_ns = table[f"{term.metric}_ns"]
  empty = table.finished & np.ma.getmaskarray(value_ns)
  within = np.ma.filled(value_ns, np.iinfo(np.int64).max) <= term.limit_ns
  return table.finished & (within | empty), empty


def _good(kept: list[np.ndarray], join: str) -> int | None:
  if not kept:
    return None
  if join == "each":
    return int(min(keeps.sum() for keeps in kept))
  return int(np.logical_and.reduce(kept).sum())


def _share(part: int, whole: int) -> float | None:
  return float(part / whole) if whole else None


def _judge_run(table: RequestTable, term: Term) -> Outcome:
  sample = table.sample(term.metric)
  match term.statistic:
    case "mean":
      value_ns = sample.mean()
    case "max":
      value_ns = sample.max()
    case "worst10_mean":
      value_ns = sample.worst_mean(0.1)
    case name:
      value_ns = percentile(sample, float(name[1:]))
  if value_ns is None:
    # Where none of those that were wanted finished, none keeps the SLO.
    holds = False if table.wanted.any() and not table.finished.any() else None
  else:
    holds = value_ns <= term.limit_ns
  return Outcome(
      term, holds, None, 0, None if value_ns is None else value_ns / 1e9
  )
