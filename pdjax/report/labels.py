"""Names of runs that fit a table without losing what tells them apart."""

from collections.abc import Sequence

WIDTH = 20
"""Of a table's first column."""


def shortened(labels: Sequence[str]) -> tuple[list[str], str]:
  """Labels without the words all of them have, and those words.

  Labels that fit as they are stay whole.

  >>> shortened(["4C chunked chunk_size=64", "4C chunked chunk_size=128"])
  (['chunk_size=64', 'chunk_size=128'], '4C chunked')
  """
  if all(len(label) < WIDTH for label in labels):
    return list(labels), ""
  words = [label.split() for label in labels]
  shared = [word for word in words[0] if all(word in own for own in words)]
  short = [" ".join(w for w in own if w not in shared) for own in words]
  if not all(short) or len(set(short)) < len(set(labels)):
    return list(labels), ""  # nothing would be left to tell some apart
  return short, " ".join(shared)


def row(label: str, cells: str) -> str:
  """A line of a table; a long label has a line of its own above it."""
  if len(label) < WIDTH:
    return f"{label:<{WIDTH}}{cells}"
  return f"{label}\n{'':<{WIDTH}}{cells}"
