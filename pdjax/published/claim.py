"""A published claim: what was found, under what conditions, and by whom.

A claim has rows, one a system or design, with figures named as in
`summary.json`, and ratios of one row's system to another's. Its contract has
the fields of `conditions.json`: those a source does not tell are absent, which
means unknown. Files are in `pdjax/published`; docs/compare.md has the format.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pdjax import config, inputfile
from pdjax.config import ConfigError
from pdjax.fieldtypes import near
from pdjax.metrics.conditions import conditions
from pdjax.published.mistakes import mistakes

FOLDER = Path(__file__).parent

Value = float | tuple[float, float]
"""A number, or the smallest and the largest of several."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
  """What is claimed of one system or design."""

  label: str
  contract: Mapping[str, Any]
  """What is known, the claim's own conditions included."""
  design: Mapping[str, Any]
  figures: Mapping[str, Value]

  @property
  def unknown(self) -> tuple[str, ...]:
    """Contract fields that the source does not tell."""
    return tuple(f for f in contract_fields() if f not in self.contract)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ratio:
  """What is claimed of two systems together."""

  figure: str
  of: str
  to: str
  value: Value
  note: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Claim:
  """One file of `pdjax/published`."""

  name: str
  claim: str
  claim_type: str
  source: Mapping[str, str]
  rows: tuple[Row, ...]
  ratios: tuple[Ratio, ...]
  conditions: tuple[str, ...]
  unknowns: tuple[str, ...]
  does_not_support: tuple[str, ...]


def contract_fields() -> tuple[str, ...]:
  """Every field that must be equal before two numbers form a ratio."""
  return tuple(conditions(config.Run(), {})["contract"])


def names() -> list[str]:
  """Of the packaged claims."""
  return sorted(path.stem for path in FOLDER.glob("*.json"))


def read(name: str) -> Claim:
  """A packaged claim by its name, or one of a file that ends in `.json`.

  Raises:
    ConfigError: no such claim, or its file is none; a line a mistake.
  """
  if name.endswith(".json"):
    path = inputfile.path_of(name)
    if reason := inputfile.refusal(name, inputfile.READ_WHOLE_BYTES):
      raise ConfigError([f"{name}: {reason}"])
  else:
    path = FOLDER / f"{name}.json"
    if name not in names():
      raise ConfigError([
          f"{name}: no published claim{near(name, names())}; see"
          " --list_published"
      ])
  return _claim(path)


def _claim(path: Path) -> Claim:
  try:
    tree = json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError, RecursionError):
    raise ConfigError([f"{path}: not a JSON file"]) from None
  if errors := list(mistakes(tree, contract_fields())):
    raise ConfigError([f"{path}: {line}" for line in errors])
  common = tree["contract"]
  return Claim(
      name=path.stem,
      claim=tree["claim"],
      claim_type=tree["claim_type"],
      source=tree["source"],
      rows=tuple(_row(row, common) for row in tree["rows"]),
      ratios=tuple(
          Ratio(**ratio | {
              "value": _value(ratio["value"]), "note": ratio.get("note", ""),
          })
          for ratio in tree["ratios"]
      ),
      conditions=tuple(tree["conditions"]),
      unknowns=tuple(tree["unknowns"]),
      does_not_support=tuple(tree["does_not_support"]),
  )


def _row(row: Mapping[str, Any], common: Mapping[str, Any]) -> Row:
  return Row(
      label=row["label"],
      # Chips that a config describes itself are no publication's.
      contract={"own_chips": None, **common, **row.get("contract", {})},
      design=row.get("design", {}),
      figures={k: _value(v) for k, v in row.get("figures", {}).items()},
  )


def _value(value: Any) -> Value:
  return (value[0], value[1]) if isinstance(value, list) else value
