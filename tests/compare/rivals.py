"""Rivals with the figures one wants, without serving anything."""

import dataclasses

from pdjax import config
from pdjax.compare.rival import Rival
from pdjax.metrics.anchors import ANCHORS
from pdjax.metrics.conditions import conditions
from pdjax.report.groups import ReportedRun

COLOCATED = config.Run(
    cluster=config.Cluster(split="2C", chip="h100-sxm"),
    slo=config.SLO(ttft_s=0.4),
)
SPLIT = dataclasses.replace(
    COLOCATED,
    cluster=config.Cluster(split="1P1D", chip="h100-sxm"),
    strategy=config.Strategy(kind="disaggregated"),
)


def summary(run, **figures):
  """A row with goodput 4/s on its chips and one latency everywhere."""
  chips = conditions(run, {})["contract"]["chips"]
  row = {
      "kind": "measured" if run.backend.kind == "jax" else "simulated",
      "sent": 100, "chips": chips, "offered_rate": 5.0, "flags": [],
      "offered_rate_per_chip": 5.0 / chips,
      "request_goodput_per_chip": 4.0 / chips,
  }
  for anchor in ANCHORS:
    row |= {f"p50_ttft_{anchor}_ms": 100.0, f"slo_met_{anchor}": True}
  return row | figures


def rival(run=COLOCATED, label="it", by_seed=None, **figures):
  """A rival with one row a seed; `by_seed` has each seed's own figures."""
  runs = {
      seed: ReportedRun(
          label=label,
          summary=summary(run, **figures, **own),
          conditions=conditions(run, {"content_sha256": f"seed {seed}"}),
          config={"strategy": {"kind": run.strategy.kind}},
      )
      for seed, own in (by_seed or {0: {}}).items()
  }
  kind = "measured" if run.backend.kind == "jax" else "simulated"
  return Rival(label=label, source="results/x", kind=kind, runs=runs)
