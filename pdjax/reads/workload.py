"""When the fields of `workload` are read."""

from collections.abc import Callable

from pdjax import config
from pdjax.config import Run
from pdjax.reads.arrivals import RATED, arrival_of, timed
from pdjax.reads.questions import measured
from pdjax.reads.rule import Rule

SEED = "workload.seed"
"""Read where a workload draws anything."""


def _from_trace(run: Run) -> bool:
  return run.workload.kind != "synthetic"


def _draws(run: Run) -> bool:
  """Whether a seed of the workload changes anything."""
  return (
      measured(run)
      or arrival_of(run.workload) in _DRAWN_ARRIVALS
      or _pauses(run.workload)
      or run.workload.cancel_fraction > 0
      or (not _from_trace(run) and _draws_lengths(run.workload))
  )


_DRAWN_ARRIVALS = ("poisson", "gamma", "semi_open")


def _pauses(workload: config.Workload) -> bool:
  """Whether a trace's arrivals are delayed, or users of a loop think."""
  if workload.turns is not None:
    return workload.think_time_s > 0
  match arrival_of(workload):
    case "trace":
      return workload.jitter_s > 0
    case "closed":
      return workload.think_time_s > 0
    case _:
      return False


def _draws_lengths(workload: config.Workload) -> bool:
  laws = (workload.prompt, workload.output, workload.turns)
  drawn = any(law is not None and law.kind != "fixed" for law in laws)
  return workload.lengths is not None or drawn


def _lengths(name: str, *kinds: str) -> Callable[[Run], bool]:
  def drawn(run: Run) -> bool:
    law = getattr(run.workload, name)
    return law is not None and law.kind in kinds

  return drawn


RULES = (
    Rule(
        (
            "workload.path", "workload.skip_requests", "workload.length_scale",
            "workload.skip_bad_rows", "workload.start_s", "workload.end_s",
        ),
        _from_trace,
        "a synthetic workload has no trace",
    ),
    Rule(
        ("workload.prompt", "workload.output", "workload.lengths"),
        lambda run: not _from_trace(run),
        "the trace has the lengths",
    ),
    Rule(
        ("workload.turns",),
        lambda run: (
            not _from_trace(run)
            and arrival_of(run.workload) not in ("closed", "semi_open")
        ),
        "only synthetic requests with arrivals of their own are turns of a"
        " conversation: a trace names its prefixes, users of a loop begin anew",
    ),
    Rule(
        ("workload.prompt", "workload.output"),
        lambda run: run.workload.lengths is None,
        "workload.lengths says it already",
    ),
    Rule(
        (SEED,),
        _draws,
        "it draws nothing (the lengths, arrivals and patience are given), so"
        " seeds would be one run counted again; of a trace"
        " workload.arrival='poisson' keeps the lengths and draws the arrivals,"
        " workload.jitter_s shifts them",
    ),
    Rule(
        ("workload.time_scale", "workload.jitter_s"),
        lambda run: arrival_of(run.workload) == "trace",
        "arrivals do not come from a trace",
    ),
    Rule(
        ("workload.rate",),
        lambda run: arrival_of(run.workload) in (*RATED, "trace"),
        "the arrivals have no rate to set",
    ),
    Rule(
        ("workload.concurrency",),
        lambda run: arrival_of(run.workload) == "closed",
        "only a closed loop has a number of users",
    ),
    Rule(
        ("workload.think_time_s",),
        lambda run: (
            run.workload.turns is not None
            or arrival_of(run.workload) in ("closed", "semi_open")
        ),
        "arrivals do not wait for answers",
    ),
    Rule(
        ("workload.stay_probability",),
        lambda run: arrival_of(run.workload) == "semi_open",
        "only users of a semi-open loop come and leave",
    ),
    Rule(
        ("workload.duration_s", "workload.warmup_s"),
        lambda run: run.workload.protocol == "steady",
        "only the steady protocol has a window",
    ),
    Rule(
        ("workload.num_requests",),
        lambda run: not timed(run.workload),
        "the window and the rate say how many requests there are",
    ),
    Rule(
        ("workload.arrival_cv",),
        lambda run: arrival_of(run.workload) == "gamma",
        "only gamma arrivals have a coefficient of variation",
    ),
    Rule(
        ("workload.cancel_after_s",),
        lambda run: run.workload.cancel_fraction > 0,
        "workload.cancel_fraction=0 draws no cancellation",
    ),
    *(
        Rule((f"workload.{name}.{field}",), _lengths(name, *kinds), reason)
        for name in ("prompt", "output", "turns")
        for field, kinds, reason in (
            ("mean", ("fixed", "lognormal"), "empirical lengths are drawn"
             " from values"),
            ("cv", ("lognormal",), "only lognormal lengths vary by cv"),
            ("low", ("lognormal",), "only lognormal lengths are cut"),
            ("high", ("lognormal",), "only lognormal lengths are cut"),
            ("values", ("empirical",), "only empirical lengths have values"),
        )
    ),
)
