"""A share of a chip as a chip of its own: what a step in a lane runs on.

The model of contention is a fixed partition, as masks of multiprocessors and
MIG make one: a lane has its multiprocessors, and with them its part of the
peak, and its part of the memory bandwidth, whether or not the other lane is at
work. Masks do not divide bandwidth; how much of it each phase gets while both
run is an assumption of the config, and what one leaves is not lent. Links go
with the arithmetic, since their traffic follows tokens as arithmetic does. Host
overheads and latencies are each lane's own, in full: two processes, or two
streams, launch side by side.
"""

import dataclasses

from pdjax.config import ConfigError, LaneShares
from pdjax.simulate.chip import PEAK_OF_DTYPE, Chip
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.rates import share

_LINKS = (
    "interconnect_bytes_per_s", "ici_link_bytes_per_s",
    "host_link_bytes_per_s", "nic_bytes_per_s", "host_nic_bytes_per_s",
)


def lane_costs(
    whole: AnalyticalCost, shares: LaneShares
) -> tuple[AnalyticalCost, AnalyticalCost]:
  """Prices of the prefill lane's steps and of the decode lane's.

  Raises:
    ConfigError: the chip cannot be shared out.
  """
  compute, bandwidth = shares.prefill_compute, shares.prefill_bandwidth
  return (
      whole.on(part_of(whole.chip, compute, bandwidth)),
      whole.on(part_of(whole.chip, 1 - compute, 1 - bandwidth)),
  )


def part_of(chip: Chip, compute: float, bandwidth: float) -> Chip:
  """A chip with these shares of another's rates; its memory stays whole.

  Multiprocessors are whole ones, at least one.

  Raises:
    ConfigError: it has none to share out, but one systolic array.
  """
  if chip.matrix_tile is not None:
    raise ConfigError([
        f"strategy.lanes: chip {chip.name!r} cannot be shared out: it has no"
        " multiprocessors but a systolic array, which one step takes whole"
    ])
  units = chip.compute_units
  if units is not None:
    fewer = max(1, round(units * compute))
    units, compute = fewer, fewer / units
  shares = {
      **dict.fromkeys((*PEAK_OF_DTYPE.values(), "fp4_flops", *_LINKS), compute),
      "hbm_bytes_per_s": bandwidth,
  }
  rates = {
      name: share(rate, part)
      for name, part in shares.items()
      if (rate := getattr(chip, name)) is not None
  }
  return dataclasses.replace(chip, compute_units=units, **rates)
