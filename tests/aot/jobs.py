"""Small runs for the tests of this folder."""

from pdjax import config
from pdjax.aot.job import Job, jobs
from pdjax.aot.target import target
from pdjax.workload.build import build

TARGET = target("v5e:2x2")


def run_of(split: str = "1C", kv_tokens: int | None = 512, **cluster):
  kind = "disaggregated" if "P" in split else "chunked"
  return config.Run(
      backend=config.Backend(kind="jax"),
      model=config.Model(preset="tiny", dtype="float32"),
      cluster=config.Cluster(split=split, kv_tokens=kv_tokens, **cluster),
      strategy=config.Strategy(kind=kind, chunk_size=64, max_num_seqs=4),
      workload=config.Workload(
          num_requests=4, rate=1.0, prompt=config.Lengths(mean=40),
          output=config.Lengths(mean=8),
      ),
  )


def jobs_of(run: config.Run, *, all_buckets: bool = False) -> list[Job]:
  return jobs(run, build(run.workload), TARGET, all_buckets=all_buckets)
