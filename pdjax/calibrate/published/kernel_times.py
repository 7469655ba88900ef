"""Kernel times on A100 that the Vidur simulator was profiled with.

Layers: the linear operators, norms, residuals, rotation and gate of one layer,
without attention, collectives and launch gaps. Collectives: NCCL all-reduces
and sends by size, within a host and between two. (Agrawal et al., MLSys 2024;
microsoft/vidur.)
"""

import csv
import dataclasses
from collections.abc import Iterator
from pathlib import Path

from pdjax.calibrate.published.readings import Reading
from pdjax.layout import Layout
from pdjax.models.presets import preset
from pdjax.simulate.chip import Chip, giga
from pdjax.simulate.chips import CHIPS
from pdjax.simulate.collectives import Fabric
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.rates import PS_PER_MS
from pdjax.simulate.scalars import Scalars

HOSTS = "the hosts of the collectives"
"""Stands for an engine: what joins them is theirs, not the chips'."""
_FITTED_MODELS = ("llama-2-7b", "llama-3-70b")
_LARGE_BYTES = 10**6


def layers(path: Path, chip: Chip = CHIPS["a100-80gb-sxm"]) -> list[Reading]:
  """Of `layer_times_*.csv`: every model, TP and number of tokens in it."""
  return [
      Reading(
          source="layer times",
          case=f"{row['model']} tp {row['tp']}, {row['num_tokens']} tokens",
          measured_ms=float(row["layer_nonattn_sum_ms"]),
          fitted=row["model"].lower() in _FITTED_MODELS,
          price_ms=_Layer(
              row["model"].lower(), int(row["tp"]), int(row["num_tokens"]), chip
          ),
      )
      for row in csv.DictReader(path.open())
  ]


@dataclasses.dataclass(frozen=True, slots=True)
class _Layer:
  model: str
  tp: int
  tokens: int
  chip: Chip

  def __call__(self, scalars: Scalars) -> float:
    cost = AnalyticalCost(
        preset(self.model), self.chip, layout=Layout(tp=self.tp),
        scalars=scalars,
    )
    return cost.kernels.layer_ps(self.tokens) / PS_PER_MS


def collectives(path: Path) -> list[Reading]:
  """Of `collectives_a100.csv`, above 1 MB; every second size is fitted."""
  return [*_collectives(path)]


def _collectives(path: Path) -> Iterator[Reading]:
  for row in csv.DictReader(path.open()):
    size_bytes = int(row["size_bytes"])
    if size_bytes < _LARGE_BYTES:
      continue
    chips, local = int(row["num_workers"]), int(row["devices_per_node"])
    hosts = "one host" if chips == local else f"{chips // local} hosts"
    yield Reading(
        source=f"{row['collective']}, {hosts}",
        case=f"{row['topology']}, {chips} chips, {size_bytes / 1e6:.1f} MB",
        engine=HOSTS,
        measured_ms=float(row["median_ms"]),
        fitted=bool(size_bytes.bit_length() % 2),
        price_ms=_Collective(
            row["collective"], chips, size_bytes,
            _host(local, "pairwise" in row["topology"]),
        ),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Collective:
  name: str
  chips: int
  size_bytes: int
  chip: Chip

  def __call__(self, scalars: Scalars) -> float:
    fabric = Fabric(self.chip, scalars)
    if self.name == "all_reduce":
      return fabric.all_reduce_ps(self.size_bytes, self.chips) / PS_PER_MS
    return fabric.send_ps(self.size_bytes, 1) / PS_PER_MS


def _host(local_chips: int, bridged: bool) -> Chip:
  """An A100 in a host that takes part with so many chips.

  What joins the hosts is not published. Up to 16 MB all-reduces are as slow
  with eight chips a host as with one, so the chips are taken to share a card.
  """
  return dataclasses.replace(
      CHIPS["a100-80gb-sxm"],
      host_chips=local_chips,
      domain_chips=min(2, local_chips) if bridged else local_chips,
      nic_bytes_per_s=giga(25) // local_chips,
  )
