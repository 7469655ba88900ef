"""How series are told apart: by colour, and without it.

The colours are those of Okabe and Ito (2008), which colour-blind readers tell
apart; dashes and markers do the same in grey. A series keeps its number, so it
looks alike in every figure of a report.
"""

COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444",
)
DARK = (
    "#4DA9E0", "#F28A3C", "#2FC99B", "#E39CC6", "#F0B93A", "#8CCBF0", "#C8C8C8",
)
"""The same on a dark page."""

DASHES: tuple[tuple[float, ...], ...] = (
    (), (6, 2), (1.5, 1.5), (6, 2, 1.5, 2), (3, 3), (1.5, 3), (9, 2, 1.5, 2),
)
"""Lengths of strokes and gaps in points; empty is solid."""

MARKERS: tuple[tuple[tuple[float, float], ...], ...] = (
    (),
    ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    ((0, -1.35), (1.2, 0), (0, 1.35), (-1.2, 0)),
    ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    ((-1.2, 0), (0.9, -1.15), (0.9, 1.15)),
    ((1.2, 0), (-0.9, -1.15), (-0.9, 1.15)),
)
"""Corners of each marker, y downwards; without any it is a circle."""

GREY = 6
"""The style of what has no colour of its own."""

SERIES = len(COLOURS)
"""So many can be told apart."""


def colour(style: int) -> str:
  return COLOURS[style % SERIES]


def dash(style: int) -> tuple[float, ...]:
  """Another one on each turn through the colours."""
  return DASHES[(style + style // SERIES) % SERIES]


def marker(style: int) -> tuple[tuple[float, float], ...]:
  return MARKERS[(style + style // SERIES) % SERIES]
