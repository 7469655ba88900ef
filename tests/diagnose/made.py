"""Simulated runs, each made so that one bottleneck is the true one."""

import functools

from pdjax import config
from pdjax.events import Arrived
from pdjax.metrics.requests import RequestTable, table_of
from pdjax.metrics.summary import summarize
from pdjax.reads import resolved
from pdjax.schedule.loop import serve
from pdjax.schedule.setup import policy_of, world_of
from pdjax.simulate.cluster import cluster_of
from pdjax.workload.build import build

LATE_PS = 400 * 10**9


def _run(
    split: str, kind: str, rate: float, prompt: int, output: int, *,
    link: float | None = None, kv_tokens: int = 50_000, num_requests: int = 60,
    slo: config.SLO | None = None, **strategy,
) -> config.Run:
  """Llama-3-8B on H100; one length for all prompts, and one for answers."""
  fixed = functools.partial(config.Lengths, kind="fixed")
  return resolved(config.Run(
      cluster=config.Cluster(
          split=split, chip="h100-sxm", kv_tokens=kv_tokens,
          link=config.Link(bandwidth_bytes_per_s=link),
      ),
      strategy=config.Strategy(kind=kind, **strategy),
      workload=config.Workload(
          num_requests=num_requests, rate=rate, prompt=fixed(mean=prompt),
          output=fixed(mean=output),
      ),
      slo=slo or config.SLO(),
  ))


CASES = {
    # A prompt of 4000 takes one P worker longer than the time between two.
    "prefill_queue": _run("1P3D", "disaggregated", 15.0, 4000, 40),
    # The same; its prompts fill the few seats of the P worker.
    "prefill_queue, few seats": _run(
        "1P3D", "disaggregated", 15.0, 4000, 40, max_num_seqs=4
    ),
    # Whole prompts stop the answers of the one worker that does both.
    "interference": _run("1C", "continuous", 4.0, 2500, 150),
    # 262 MB of KV a request at 2 GB/s, beside 20 ms of prefill.
    "transfer": _run("1P1D", "disaggregated", 6.0, 2000, 60, link=2e9),
    "transfer, layer by layer": _run(
        "1P1D", "disaggregated", 6.0, 2000, 60, link=2e9,
        transfer=config.TransferPlan(granularity="layers", layers=8),
    ),
    # Room for eight requests of 700 tokens, and 20 arrive a second.
    "decode_memory": _run(
        "1P1D", "disaggregated", 20.0, 300, 400, kv_tokens=6000
    ),
    "decode_memory, one worker": _run(
        "1C", "chunked", 20.0, 300, 400, kv_tokens=6000
    ),
    # Nobody waits; weights are read again for every few tokens.
    "decode_bandwidth": _run("1P1D", "disaggregated", 3.0, 200, 300),
    # Two seats, room for all.
    "batch_limit": _run("1C", "chunked", 20.0, 300, 200, max_num_seqs=2),
    # Nobody waits, answers are a token long.
    "prefill": _run("2C", "continuous", 2.0, 6000, 2),
}
"""Verdict that is right, and what else there is to say -> run."""


class Late:
  """Clients that hand every request over `LATE_PS` after it was meant to be."""

  def __init__(self, clients):
    self._clients = clients

  def due(self):
    event = self._clients.due()
    if isinstance(event, Arrived):
      return Arrived(event.at_ps + LATE_PS, event.request)
    return event

  def __getattr__(self, name):
    return getattr(self._clients, name)


@functools.cache
def served(verdict: str, late: bool = False) -> tuple[RequestTable, dict]:
  """(table, summary) of a case; `late`: with a late generator."""
  run, log = logged(verdict, late)
  table = table_of(log, run)
  return table, summary_of(run, table)


def summary_of(run: config.Run, table: RequestTable) -> dict:
  """As `summary.json` holds it."""
  from pdjax import schema
  from pdjax.cli.utilised import utilised

  flat = schema.flat(schema.tree_of(run))
  return summarize(table, run) | utilised(run, table, []) | flat


@functools.cache
def logged(verdict: str, late: bool = False):
  """(config, log) of a case."""
  return CASES[verdict], _log(CASES[verdict], late)


def simulated(*asked, **said) -> tuple[config.Run, dict]:
  """(config, summary) of a run like those of `CASES`."""
  run = _run(*asked, **said)
  return run, summary_of(run, table_of(_log(run, late=False), run))


def _log(run: config.Run, late: bool):
  workload, cluster = build(run.workload), cluster_of(run)
  clients = workload.clients()
  backend = cluster.backend(
      Late(clients) if late else clients,  # pyright: ignore
      workload.output_tokens,
  )
  world = world_of(run, cluster.pool_pages)
  return serve(policy_of(run), backend, world)
