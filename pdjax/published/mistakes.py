"""What is wrong with a claim's file, a line each; docs/compare.md has its form.
"""

import datetime
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from pdjax.fieldtypes import near, shown

TYPES = ("measured", "simulated", "vendor-reported")
GRADES = (
    "peer-reviewed paper", "preprint", "documentation", "vendor", "blog",
)
_SOURCE = ("title", "where", "url", "grade", "date_checked", "checked_against")
_FIELDS = (
    "claim", "claim_type", "source", "contract", "rows", "ratios",
    "conditions", "unknowns", "does_not_support",
)
_ROW = ("label", "contract", "design", "figures")
_RATIO = ("figure", "of", "to", "value", "note")


def mistakes(tree: Any, fields: tuple[str, ...]) -> Iterator[str]:
  """A line for each thing wrong with what a claim's file holds.

  Args:
    fields: of a contract.
  """
  if not isinstance(tree, dict):
    yield "not a JSON object"
    return
  if missing := [name for name in _FIELDS if name not in tree]:
    yield f"missing: {', '.join(missing)}"
    return
  if endless := list(_not_finite(tree)):
    yield from endless
    return
  yield from _others(tree, _FIELDS, "")
  if not _words(tree["claim"]):
    yield "claim: expected a sentence"
  if tree["claim_type"] not in TYPES:
    yield _allowed("claim_type", tree["claim_type"], TYPES)
  yield from _source(tree["source"])
  yield from _contract(tree["contract"], fields, "contract")
  for name in ("conditions", "unknowns", "does_not_support"):
    if not _is_list(tree[name], _words):
      yield f"{name}: expected a list of sentences"
  if not tree["does_not_support"]:
    yield "does_not_support: every claim has its limits; say one"
  yield from _rows(tree["rows"], fields)
  yield from _ratios(tree["ratios"])
  if not tree["ratios"] and not any(
      isinstance(row, dict) and row.get("figures") for row in tree["rows"]
  ):
    yield "rows, ratios: no figure at all"


def _not_finite(tree: Any) -> Iterator[str]:
  """Numbers anywhere that no JSON has, or that are too large for any sum."""
  waiting = [("", tree)]
  while waiting:
    path, value = waiting.pop()
    if isinstance(value, dict):
      waiting += [(f"{path}.{name}", one) for name, one in value.items()]
    elif isinstance(value, list):
      waiting += [(f"{path}[{at}]", one) for at, one in enumerate(value)]
    elif isinstance(value, int | float) and not _is_finite(value):
      yield f"{path.removeprefix('.')}: expected a finite number"


def _source(source: Any) -> Iterator[str]:
  if not isinstance(source, dict) or not all(map(_words, source.values())):
    yield "source: expected texts"
    return
  yield from _others(source, _SOURCE, "source.")
  if missing := [name for name in _SOURCE if name not in source]:
    yield f"source: missing: {', '.join(missing)}"
    return
  if source["grade"] not in GRADES:
    yield _allowed("source.grade", source["grade"], GRADES)
  if not source["url"].startswith("https://"):
    yield f"source.url: expected https://..., got {shown(source['url'])}"
  try:
    datetime.date.fromisoformat(source["date_checked"])
  except ValueError:
    yield (
        "source.date_checked: expected a date such as 2026-01-31, got"
        f" {shown(source['date_checked'])}"
    )


def _contract(
    contract: Any, fields: tuple[str, ...], path: str
) -> Iterator[str]:
  if not isinstance(contract, dict):
    yield f"{path}: expected fields"
    return
  yield from _others(contract, fields, f"{path}.")


def _rows(rows: Any, fields: tuple[str, ...]) -> Iterator[str]:
  if not _is_list(rows, lambda row: isinstance(row, dict)):
    yield "rows: expected a list of objects"
    return
  labels = [row.get("label") for row in rows]
  if not all(map(_words, labels)) or len(set(labels)) < len(labels):
    yield "rows: each has a label of its own"
  for at, row in enumerate(rows):
    yield from _others(row, _ROW, f"rows[{at}].")
    yield from _contract(
        row.get("contract", {}), fields, f"rows[{at}].contract"
    )
    if not isinstance(row.get("design", {}), dict):
      yield f"rows[{at}].design: expected fields"
    figures = row.get("figures", {})
    known = isinstance(figures, dict)
    if not known or not all(map(_is_value, figures.values())):
      yield f"rows[{at}].figures: expected numbers or [low, high]"


def _ratios(ratios: Any) -> Iterator[str]:
  if not _is_list(ratios, lambda ratio: isinstance(ratio, dict)):
    yield "ratios: expected a list of objects"
    return
  for at, ratio in enumerate(ratios):
    yield from _others(ratio, _RATIO, f"ratios[{at}].")
    if not all(_words(ratio.get(name)) for name in ("figure", "of", "to")):
      yield f"ratios[{at}]: figure, of and to are texts"
    if not _is_value(ratio.get("value")):
      yield f"ratios[{at}].value: expected a number or [low, high]"


def _others(
    tree: Mapping, known: tuple[str, ...], prefix: str
) -> Iterator[str]:
  for name in tree:
    if name not in known:
      yield f"{prefix}{name}: no such field{near(str(name), known)}"


def _allowed(name: str, value: Any, allowed: tuple[str, ...]) -> str:
  wanted = near(str(value), allowed)
  return f"{name}: allowed: {', '.join(allowed)}; got {shown(value)}{wanted}"


def _words(value: Any) -> bool:
  return isinstance(value, str) and bool(value.strip())


def _is_list(value: Any, of) -> bool:
  return isinstance(value, list) and all(map(of, value))


def _is_number(value: Any) -> bool:
  return isinstance(value, int | float) and not isinstance(value, bool)


def _is_finite(value: int | float) -> bool:
  return abs(value) <= sys.float_info.max  # nan is not; integers are exact


def _is_value(value: Any) -> bool:
  pair = isinstance(value, list) and len(value) == 2
  if pair and all(map(_is_number, value)):
    return value[0] <= value[1]
  return _is_number(value)
