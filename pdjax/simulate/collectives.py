"""What collectives take on a given fabric, from latency and bandwidth.

A fabric has levels: the chips that one interconnect joins, the chips of a
host, and hosts joined by a network. A ring through n chips is as slow as its
slowest level, and crosses the network once for each chip a host has in it,
every chip through its own card. With n chips and S bytes on each:

  ring all-reduce     2 (n - 1) hops, 2 (n - 1) / n of S
  one-shot            1 hop, (n - 1) of S to everybody at once (small S)
  ring all-gather     n - 1 hops, (n - 1) / n of the gathered S
  all-to-all          1 hop, (n - 1) / n of S
  send                1 hop, S

A send begins with one exchange, a collective with two, since all must be
ready; a ring all-reduce is two collectives, a scattered sum and a gathering.
Sends reach all of a link within a host, rings a share.

On a torus the chips form a box, as cubic as can be; rings run along all its
axes, both ways where an axis is long enough to wrap around (Thakur et al.,
IJHPCA 2005; "How to scale your model", Austin et al., 2025).

Units: `_ps` integer picoseconds, `_bytes` bytes, rates per second.
"""

import dataclasses
import math

from pdjax.simulate.chip import Chip
from pdjax.simulate.rates import ps_at, ps_of, share
from pdjax.simulate.scalars import Scalars

_WRAPS_FROM = {2: 16, 3: 4}
"""Length from which a torus of so many axes wraps around (TPU slices)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fabric:
  """Links of alike chips, at the rates a program reaches."""

  chip: Chip
  scalars: Scalars

  def all_reduce_ps(self, size_bytes: int, chips: int) -> int:
    """`size_bytes` on each chip become their sum on each."""
    if chips == 1:
      return 0
    moved = 2 * (chips - 1) * size_bytes
    ring = 2 * self._hops_ps(chips - 1, chips) + self._ring_ps(moved, chips)
    if size_bytes > self.scalars.one_shot_bytes or self._leaves_host(chips):
      return ring
    sent = (chips - 1) * size_bytes
    return min(ring, self._hops_ps(1, 2) + ps_at(sent, self._rate(chips)))

  def all_gather_ps(self, size_bytes: int, chips: int) -> int:
    """A part on each chip becomes the whole, `size_bytes`, on each."""
    if chips == 1:
      return 0
    moved = (chips - 1) * size_bytes
    return self._hops_ps(chips - 1, chips) + self._ring_ps(moved, chips)

  def all_to_all_ps(self, size_bytes: int, chips: int) -> int:
    """Each chip deals `size_bytes` out to all."""
    if chips == 1:
      return 0
    rate = self._rate(chips)
    if self._leaves_host(chips):
      rate = min(rate, self._network)  # every chip over its own card
    moved = (chips - 1) * size_bytes
    return self._hops_ps(1, 2) + ps_at(moved, chips * rate)

  def send_ps(self, size_bytes: int, stage_chips: int) -> int:
    """To the next stage, `stage_chips` sending side by side."""
    rate = self._link_rate(2 * stage_chips, 1.0, 1.0)
    if self._leaves_host(2 * stage_chips):
      rate = min(rate, self._network)
    scalars = self.scalars
    begin_ps = ps_of(scalars.exchange_latency_s) + ps_of(scalars.hop_latency_s)
    return begin_ps + ps_at(size_bytes, rate)

  @property
  def _network(self) -> int:
    return share(
        self.chip.network_bytes_per_s, self.scalars.network_efficiency
    )

  def _hops_ps(self, ring_hops: int, chips: int) -> int:
    """The start, and hops one after another; a torus' axes are shorter."""
    if sides := self._box(chips):
      ring_hops = ring_hops * sum(n - 1 for n in sides) // (chips - 1)
    hop_ps = ps_of(self.scalars.hop_latency_s)
    exchange_ps = ps_of(self.scalars.exchange_latency_s)
    return 2 * exchange_ps + ring_hops * hop_ps

  def _ring_ps(self, moved: int, chips: int) -> int:
    """`moved` / chips bytes over each chip's links."""
    return ps_at(moved, chips * self._rate(chips))

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
    return self._link_rate(
        chips, scalars.link_efficiency, scalars.host_link_efficiency
    )

  def _link_rate(
      self, chips: int, efficiency: float, host_efficiency: float
  ) -> int:
    """As `_rate`, at these efficiencies of interconnect and host link."""
    chip = self.chip
    if sides := self._box(chips):
      wraps = _WRAPS_FROM[chip.torus_axes]
      links = sum(2 if side >= wraps else 1 for side in sides)
      return share(links * chip.figure("ici_link_bytes_per_s"), efficiency)
    joined = chip.interconnect_bytes_per_s
    if joined and (chips <= self._joined or self._joined > 2):
      rate = share(joined, efficiency)
    else:
      rate = share(chip.figure("host_link_bytes_per_s"), host_efficiency)
    if self._leaves_host(chips):
      rate = min(rate, self._network * self._host_chips)
    return rate

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

