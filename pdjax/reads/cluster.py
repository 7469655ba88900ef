"""When the fields of `cluster` are read."""

from pdjax import config
from pdjax.config import Run
from pdjax.reads.implied import caches_prefixes
from pdjax.reads.questions import (
    NO_DEVICES,
    ON_ITS_CHIPS,
    measured,
    moves_pages,
    simulated,
)
from pdjax.reads.rule import Rule


def _shared(section: str, name: str) -> Rule:
  """A field that stands for pools which do not say their own."""

  def read(run: Run) -> bool:
    pools = run.cluster.pools
    return not pools or any(getattr(pool, name) is None for pool in pools)

  return Rule((f"{section}.{name}",), read, f"every pool says its own {name}")


RULES = (
    _shared("cluster", "chip"),
    _shared("cluster", "kv_tokens"),
    _shared("strategy", "chunk_size"),
    _shared("strategy", "max_num_seqs"),
    Rule(
        ("cluster.reserve_pages",),
        lambda run: run.strategy.kind != "vllm_v1",
        "vllm_v1 keeps no pages in reserve",
    ),
    Rule(
        ("cluster.link",),
        moves_pages,
        "only disaggregation has a link between workers",
    ),
    Rule(
        ("cluster.link.latency_s",),
        lambda run: (
            simulated(run)
            or run.cluster.link.bandwidth_bytes_per_s is not None
        ),
        "the jax backend slows transfers only where"
        " cluster.link.bandwidth_bytes_per_s is said",
    ),
    Rule(
        (
            "cluster.chip", "cluster.chips", "cluster.pools.chip",
            "cluster.hbm_utilization",
        ),
        simulated,
        ON_ITS_CHIPS,
    ),
    Rule(
        tuple(
            f"cluster.{part}{name}"
            for part in ("", "pools.")
            for name in ("dp", "ep", "microbatches")
        ),
        simulated,
        "the jax backend splits a worker by tp alone",
    ),
    Rule(
        ("cluster.host_kv_tokens",),
        caches_prefixes,
        "nothing is evicted to host memory while strategy.prefix_cache is off",
    ),
    Rule(
        ("cluster.host_bytes_per_s",),
        lambda run: (
            simulated(run) and caches_prefixes(run)
            and run.cluster.host_kv_tokens is not None
        ),
        "only simulated pages in host memory (cluster.host_kv_tokens) have a"
        " rate to say",
    ),
    Rule(
        ("cluster.host_devices", "cluster.share_devices"),
        measured,
        NO_DEVICES,
    ),
    Rule(
        ("cluster.split", *(f"cluster.{name}" for name in config.DEGREES)),
        lambda run: run.cluster.pools is None,
        "cluster.pools says it already",
    ),
)
