"""KV caches sent between two servers of eight H800, by prompt length.

Qwen3-8B in bf16, TP 8 at both ends, a 200 Gb/s card a chip, nothing else on
the way (kvcache-ai/Mooncake, its vLLM connector's published measurements). The
simulator's hand-off: gathered, over the network, scattered.
"""

import csv
import dataclasses
from pathlib import Path

from pdjax.calibrate.published.readings import Reading
from pdjax.config import Cluster, Model, Pool, Run, Strategy
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.rates import PS_PER_MS
from pdjax.simulate.scalars import Scalars

_CARD_BYTES_PER_S = 25e9


def readings(path: Path) -> list[Reading]:
  """Every second row is fitted."""
  return [
      Reading(
          source="KV transfers H800",
          case=f"{row['prompt_tokens']} tokens",
          measured_ms=float(row["transfer_ms"]),
          fitted=index % 2 == 0,
          price_ms=_Transfer(int(row["prompt_tokens"])),
      )
      for index, row in enumerate(csv.DictReader(path.open()))
  ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Transfer:
  tokens: int

  def __call__(self, scalars: Scalars) -> float:
    cluster = cluster_of(_RUN, scalars)
    (cost, _), (link, _) = cluster.costs, cluster.links
    size_bytes = cost.transfer_bytes(self.tokens)
    copies_ps = cost.gather_ps(size_bytes) + cost.scatter_ps(size_bytes)
    return (copies_ps + link.transfer_ps(size_bytes)) / PS_PER_MS


_RUN = Run(
    model=Model(preset="qwen3-8b"),
    cluster=Cluster(
        pools=(Pool(role="P", count=1, tp=8), Pool(role="D", count=1, tp=8)),
        chip="h800",
        chips={
            "h800": {
                "like": "h800-sxm", "nic_bytes_per_s": _CARD_BYTES_PER_S
            }
        },
    ),
    strategy=Strategy(kind="disaggregated"),
)
