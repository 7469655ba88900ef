"""What joins two workers, where a config names no link.

Workers on one kind of chip that one fabric joins use it, at what its sheet
says; others the network, each chip through its own card, at the share of it
that a program reaches. The fabric is

  a switch  joins each chip with each: a worker sends through all the links of
            all its chips
  a bridge  joins two chips, so two workers of one chip; larger ones have the
            host's links between them
  a torus   joins neighbours alone: of a worker's links only those of the face
            at which the next one lies, whatever each chip's together are. Two
            workers lie side by side, each a box as cubic as can be, at their
            largest face. A second face joins them where the axis closes: on
            two axes from 16 chips on, on three where all are whole cubes of
            4 x 4 x 4 (the vendor's pages on v5e and v5p; "How to scale your
            model", Austin et al., 2025)

A worker in a torus has neighbours on other sides too, which these links leave
out: they are what it certainly has to any one of them.

Rates are bytes per second in one direction.
"""

import math

from pdjax.simulate.chip import Chip
from pdjax.simulate.collectives import box_sides
from pdjax.simulate.rates import share
from pdjax.simulate.scalars import Scalars

_CLOSES_FROM = 16
"""Chips along an axis of a torus of two."""
_CUBE = 4
"""Side of what a torus of three axes is made of."""


def bytes_per_s_between(
    chip: Chip, mine: int, every: int, alike: bool, scalars: Scalars
) -> int:
  """Of a worker of `mine` such chips.

  `every` counts the chips of all workers; `alike` says that these are of one
  kind.

  Raises:
    MissingFigure: no source states one that is needed.
  """
  if alike and every <= chip.joined_chips:
    if chip.torus_axes:
      links = crossing_links(mine, chip.torus_axes)
      return links * chip.figure("ici_link_bytes_per_s")
    return mine * chip.peer_bytes_per_s
  if alike and every <= chip.host_chips:
    return mine * chip.figure("host_link_bytes_per_s")
  return mine * share(chip.network_bytes_per_s, scalars.network_efficiency)


def crossing_links(chips: int, axes: int) -> int:
  """Links of a torus from one worker of `chips` to another beside it.

  >>> [crossing_links(chips, 3) for chips in (1, 2, 4, 8, 32)]
  [1, 2, 4, 4, 32]
  >>> [crossing_links(chips, 2) for chips in (1, 4, 8, 64)]
  [1, 2, 4, 16]
  """
  sides = box_sides(chips, axes)
  *others, least = (*sides, *[1] * (axes - len(sides)))
  return math.prod(others) * (2 if _closes(others, 2 * least) else 1)


def _closes(others: list[int], along: int) -> bool:
  """Whether the axis on which two workers lie closes to a ring."""
  if len(others) == 1:
    return along >= _CLOSES_FROM
  return all(side % _CUBE == 0 for side in (*others, along))
