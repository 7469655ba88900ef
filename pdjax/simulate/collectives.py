"""What collectives take on a given fabric, from latency and bandwidth.

A fabric has levels: the chips that one interconnect joins, the chips of a
host, and hosts joined by a network. A ring through n chips is as slow as its
slowest level, and crosses the network once for each chip a host has in it,
every chip through its own card. With n chips and S bytes on each:

  ring all-reduce     two turns of n - 1 hops, 2 (n - 1) / n of S
  one-shot            1 hop, (n - 1) of S to everybody at once
  two-shot            2 hops, 2 (n - 1) / n of S: each chip sums its part of
                      everybody's, then all fetch all parts
  ring all-gather     a turn of n - 1 hops, (n - 1) / n of the gathered S
  all-to-all          1 hop, (n - 1) / n of S
  send                1 hop, S

A send begins with one exchange, a collective with two, since all must be
ready; a ring all-reduce is two collectives, a scattered sum and a gathering.
Sends reach all of a link within a host, rings a share. Shots are an engine's
own kernels, for messages up to a size, and only where each chip reaches each
or there are two. Rings on GPUs have a second protocol for short messages, if
it is sooner: words that carry their own flags, so that nobody waits for a
signal, at a quarter of the rate. How long hops of either protocol take on each
medium is in the proportions of NCCL's own tuning table (NVIDIA/nccl,
src/graph/tuning.cc).

On a torus the chips form a box, as cubic as can be; rings run along all its
axes, both ways where an axis is long enough to wrap around, which also halves
the hops (Thakur et al., IJHPCA 2005; "How to scale your model", Austin et al.,
2025, whose microsecond a hop it is).

Units: `_ps` integer picoseconds, `_bytes` bytes, rates per second.
"""

import dataclasses
import math

from pdjax.simulate.chip import Chip
from pdjax.simulate.rates import ps_at, ps_of, share
from pdjax.simulate.scalars import Scalars

_WRAPS_FROM = {2: 16, 3: 4}
"""Length from which a torus of so many axes wraps around (TPU slices)."""
_NVLINK_US = 1.9
_PCIE, _NETWORK, _TORUS = 5.7 / _NVLINK_US, 14 / _NVLINK_US, 1 / _NVLINK_US
"""A hop's latency over NVLink's."""
_SHORT_HOP = 0.6 / _NVLINK_US
_SHORT_RATE = 4
"""Of the protocol for short messages: a hop's latency over the other's, and
what its flags and its stores cost of the rate."""
_BOTH_WAYS = 0.75
"""Of a card's rate one way, while as much comes back through it, as in a ring.
Assumed: NCCL takes 0.7 off where a chip sends and receives through one card."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
  """Links of alike chips, at the rates a program reaches."""

  chip: Chip
  scalars: Scalars

  def all_reduce_ps(self, size_bytes: int, chips: int) -> int:
    """`size_bytes` on each chip become their sum on each."""
    if chips == 1:
      return 0
    ring_ps = self._ring_ps(2, size_bytes, chips)
    if size_bytes > self.scalars.own_reduce_bytes or not self._meshed(chips):
      return ring_ps
    shot_ps = 2 * ps_of(self.scalars.engine_exchange_s)
    shot_ps += round(_SHORT_HOP * self._hop_ps(chips))
    sent, rate = (chips - 1) * size_bytes, self._rate(chips)
    return min(
        ring_ps,
        shot_ps + ps_at(sent, rate),
        2 * shot_ps + ps_at(2 * sent, chips * rate),
    )

  def all_gather_ps(self, size_bytes: int, chips: int) -> int:
    """A part on each chip becomes the whole, `size_bytes`, on each."""
    return self._ring_ps(1, size_bytes, chips) if chips > 1 else 0

  def all_to_all_ps(self, size_bytes: int, chips: int) -> int:
    """Each chip deals `size_bytes` out to all."""
    if chips == 1:
      return 0
    rate = self._rate(chips)
    if self._leaves_host(chips):
      rate = min(rate, self._network)  # every chip over its own card
    moved = (chips - 1) * size_bytes
    begin_ps = 2 * ps_of(self.scalars.exchange_latency_s)
    return begin_ps + self._hop_ps(chips) + ps_at(moved, chips * rate)

  def send_ps(self, size_bytes: int, stage_chips: int) -> int:
    """To the next stage, `stage_chips` sending side by side."""
    rate = self._link_rate(2 * stage_chips, 1.0, 1.0)
    if self._leaves_host(2 * stage_chips):
      rate = min(rate, self._network)
    begin_ps = ps_of(self.scalars.exchange_latency_s)
    begin_ps += self._hop_ps(2 * stage_chips)
    return begin_ps + ps_at(size_bytes, rate)

  @property
  def _network(self) -> int:
    return share(
        self.chip.network_bytes_per_s, self.scalars.network_efficiency
    )

  def _ring_ps(self, turns: int, size_bytes: int, chips: int) -> int:
    """Of turns around a ring, each with all but one part of `size_bytes`."""
    hops_ps = turns * self._hops_ps(chips)
    move_ps = ps_at(turns * (chips - 1) * size_bytes, chips * self._rate(chips))
    if self._box(chips):
      begin_ps = 2 * ps_of(self.scalars.engine_exchange_s)
      return begin_ps + hops_ps + move_ps
    begin_ps = 2 * turns * ps_of(self.scalars.exchange_latency_s)
    short_ps = round(_SHORT_HOP * hops_ps) + _SHORT_RATE * move_ps
    return begin_ps + min(hops_ps + move_ps, short_ps)

  def _hops_ps(self, chips: int) -> int:
    """Of one turn around a ring, on a torus along each axis."""
    if sides := self._box(chips):
      wraps = _WRAPS_FROM[self.chip.torus_axes]
      hops = sum(n // 2 if n >= wraps else n - 1 for n in sides)
      return hops * self._hop_ps(chips)
    within_ps = self._hop_ps(min(chips, self._host_chips))
    across = -(-chips // self._host_chips) - 1
    across_ps = self._hop_ps(chips)
    return (chips - 1 - across) * within_ps + across * across_ps

  def _hop_ps(self, chips: int) -> int:
    """Of the longest hop among so many chips."""
    if self._box(chips):
      times = _TORUS
    elif self._leaves_host(chips):
      times = _NETWORK
    else:
      times = 1.0 if self._by_interconnect(chips) else _PCIE
    return ps_of(times * self.scalars.hop_latency_s)

  @property
  def _joined(self) -> int:
    """Chips that one interconnect joins."""
    return self.chip.domain_chips or self.chip.host_chips

  @property
  def _host_chips(self) -> int:
    """Chips that need no network between them."""
    return max(self.chip.host_chips, self._joined)

  def _leaves_host(self, chips: int) -> bool:
    return chips > self._host_chips

  def _rate(self, chips: int) -> int:
    """Of one chip's part in a ring through `chips` chips."""
    scalars = self.scalars
    rate = self._link_rate(
        chips, scalars.link_efficiency, scalars.host_link_efficiency
    )
    if self._leaves_host(chips):
      cards = share(self._network * self._host_chips, _BOTH_WAYS)
      rate = min(rate, cards)
    return rate

  def _link_rate(
      self, chips: int, efficiency: float, host_efficiency: float
  ) -> int:
    """As `_rate`, at these efficiencies of interconnect and host link."""
    chip = self.chip
    if sides := self._box(chips):
      wraps = _WRAPS_FROM[chip.torus_axes]
      links = sum(2 if side >= wraps else 1 for side in sides)
      return share(links * chip.figure("ici_link_bytes_per_s"), efficiency)
    if self._by_interconnect(chips):
      rate = share(chip.figure("interconnect_bytes_per_s"), efficiency)
    else:
      rate = share(chip.figure("host_link_bytes_per_s"), host_efficiency)
    return rate

  def _by_interconnect(self, chips: int) -> bool:
    """Whether chips of one host talk over it; a bridge joins but two."""
    joined = chips <= self._joined or self._joined > 2
    return bool(self.chip.interconnect_bytes_per_s) and joined

  def _meshed(self, chips: int) -> bool:
    """Whether each reaches each without the host; engines ask for it, two
    chips aside, before they reduce in one shot."""
    if self._leaves_host(chips) or self._box(chips):
      return False
    return chips == 2 or self._by_interconnect(chips)

  def _box(self, chips: int) -> tuple[int, ...]:
    """Sides of a torus' box of `chips` chips; none without a torus."""
    axes = self.chip.torus_axes
    return box_sides(chips, axes) if axes and chips > 1 else ()


def box_sides(chips: int, axes: int) -> tuple[int, ...]:
  """Sides above 1 of a box as cubic as `chips` allow.

  >>> box_sides(8, 3), box_sides(16, 2), box_sides(2, 3)
  ((2, 2, 2), (4, 4), (2,))
  """
  sides = [1] * axes
  for prime in sorted(_primes(chips), reverse=True):
    sides[sides.index(min(sides))] *= prime
  return tuple(side for side in sorted(sides, reverse=True) if side > 1)


def _primes(number: int) -> list[int]:
  for divisor in range(2, math.isqrt(number) + 1):
    if number % divisor == 0:
      return [divisor, *_primes(number // divisor)]
  return [number] if number > 1 else []

