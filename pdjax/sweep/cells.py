"""Cells: one resolved run each, with a name and an identity; equal ones merge.

`pdjax.sweep.spread` makes them.
"""

import dataclasses
import functools
import hashlib
import re
from collections.abc import Iterable
from typing import Any

from pdjax import config, schema
from pdjax.config import Run
from pdjax.sweep import jsonfile

Said = dict[str, Any]
"""Values by dotted path."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
  """One run of one resolved config."""

  run: Run
  case: str = ""
  swept: Said = dataclasses.field(default_factory=dict)
  """The values that tell it from its neighbours."""
  repeat: int = 0
  inputs: tuple[str, ...] = ()
  """Content hashes of what the config only names."""

  @functools.cached_property
  def id(self) -> str:
    """SHA-256 of the canonical config; paths count by content."""
    return self._hash(schema.tree_of(self.run))

  @functools.cached_property
  def work_id(self) -> str:
    """SHA-256 of what is served: the SLO changes the verdict alone, but for
    the limit that a policy steers by."""
    adaptive = self.run.strategy.kind == "adaptive_chunk"
    steered = {"tpot_s": self.run.slo.tpot_s} if adaptive else None
    return self._hash(schema.tree_of(self.run) | {"slo": steered})

  def _hash(self, tree: schema.Tree) -> str:
    if self.inputs:
      tree["workload"]["path"] = None
      if self.run.model.weights not in config.NAMED_WEIGHTS:
        tree["model"]["weights"] = None
    identity = {"config": tree, "inputs": self.inputs, "repeat": self.repeat}
    return hashlib.sha256(jsonfile.canonical(identity).encode()).hexdigest()

  @property
  def described(self) -> dict[str, Any]:
    """What tells it from other cells, for files of results."""
    return {
        "cell": self.id,
        "label": self.label,
        "case": self.case,
        "swept": self.swept,
        "repeat": self.repeat,
    }

  @property
  def label(self) -> str:
    """How tables name it."""
    short = _short_names(self.swept)
    parts = [f"{short[path]}={_word(v)}" for path, v in self.swept.items()]
    return " ".join(filter(None, (self.case, *parts))) or (
        self.run.strategy.kind
    )

  @property
  def slug(self) -> str:
    """The label as a file name: never hidden, never too long."""
    name = re.sub(r"[^\w.=+-]+", ",", self.label).strip(",").lstrip(".-")
    return name.encode()[:80].decode(errors="ignore") or "cell"

  @property
  def folder_name(self) -> str:
    return f"{self.slug}-{self.id[:12]}"


@dataclasses.dataclass(frozen=True)
class Cells:
  """The distinct cells of a sweep, in order."""

  cells: tuple[Cell, ...]
  merged: int
  """Combinations that equalled an earlier one."""


def distinct(cells: Iterable[Cell]) -> Cells:
  """Merges equal cells into the first of them."""
  cells = tuple(cells)
  kept = {cell.id: cell for cell in reversed(cells)}
  first = tuple(cell for cell in cells if kept[cell.id] is cell)
  return Cells(first, len(cells) - len(first))


def _short_names(paths: Iterable[str]) -> dict[str, str]:
  """The last name of each path, or all of it where two end alike."""
  lasts = [path.rpartition(".")[2] for path in paths]
  return {
      path: path if lasts.count(last) > 1 else last
      for path, last in zip(paths, lasts, strict=True)
  }


def _word(value: Any) -> str:
  if isinstance(value, (tuple, list)):
    return ",".join(map(_word, value))
  text = f"{value:g}" if isinstance(value, float) else str(value)
  return text if text.isprintable() else ascii(text)
