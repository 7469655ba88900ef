"""The tables of `benchmarks.engine`: rates, ratios, and what they rest on."""

import dataclasses
import os
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.peers import lines
from benchmarks.traces import PRODUCTS

OURS, FLOOR = "pdjax", "products"
SMOKE = "SMOKE: a tiny model; nothing here is a measurement"


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Written:
  """All of a run, fit for JSON."""

  cases: list[str]
  contenders: list[dict[str, Any]]
  rows: list[dict[str, Any]]
  gaps: list[dict[str, Any]] | None
  conditions: list[str]


def median(values: Sequence[float]) -> float:
  return statistics.median(values)


def told(line: lines.Line) -> dict[str, Any]:
  """A contender, and why it is missing if it is."""
  return {"name": line.entry.name, "failure": line.failure, **line.about}


def conditions(
    load: tuple[float, float, float], cores: int, smoke: bool
) -> list[str]:
  """Lines that say what the figures are."""
  now = os.getloadavg()
  said = [SMOKE] if smoke else []
  return said + [
      f"Measured, wall clock, float32, random weights, {cores} cores of a"
      f" machine with {os.cpu_count()}. Load average before"
      f" {load[0]:.1f}, {load[1]:.1f}, {load[2]:.1f} (1, 5, 15 minutes), at"
      f" the end {now[0]:.1f}, of which up to {cores} is this benchmark's own."
      " Where it is higher, other programs ran too: then ratios tell more than"
      " rates.",
  ]


def page(written: Written) -> str:
  """All tables as Markdown."""
  parts = [*written.conditions, rates(written), ratios(written)]
  parts += [_agreement(written), _contenders(written.contenders)]
  if written.gaps:
    parts.append(gap_table(written.gaps))
  return "\n\n".join(part for part in parts if part)


def rates(written: Written) -> str:
  """Tokens a second: median, and lowest to highest of the rounds."""
  names = [one["name"] for one in written.contenders]
  return _table(["tokens/s", *written.cases], [
      [name, *(_spread(_of(written, case, name)) for case in written.cases)]
      for name in names
  ])


def ratios(written: Written) -> str:
  """Ours over each other contender, round by round."""
  found = []
  for one in written.contenders:
    name = one["name"]
    if name != OURS:
      pairs = [_paired(written, case, name) for case in written.cases]
      found.append([f"{OURS} / {name}", *map(_spread2, pairs)])
  return _table(["ratio", *written.cases], found)


def _of(written: Written, case: str, name: str) -> list[float]:
  return list(_by_round(written, case, name).values())


def _by_round(written: Written, case: str, name: str) -> dict[int, float]:
  return {
      row["round"]: row["tokens_per_s"] for row in written.rows
      if row["case"] == case and row["contender"] == name
      and row["tokens_per_s"] is not None
  }


def _paired(written: Written, case: str, name: str) -> list[float]:
  ours = _by_round(written, case, OURS)
  theirs = _by_round(written, case, name)
  return [ours[i] / theirs[i] for i in ours.keys() & theirs.keys()]


def _spread(values: Sequence[float]) -> str:
  if not values:
    return "-"
  return f"{median(values):.0f} ({min(values):.0f}-{max(values):.0f})"


def _spread2(values: Sequence[float]) -> str:
  if not values:
    return "-"
  return f"{median(values):.2f} ({min(values):.2f}-{max(values):.2f})"


def _agreement(written: Written) -> str:
  """How many offline requests each peer answered with our very tokens."""
  answers = {
      row["contender"]: row["tokens"] for row in written.rows
      if row["tokens"] is not None
  }
  ours, said = answers.pop(OURS, None), []
  for name, tokens in answers.items() if ours else ():
    same = sum(a == b for a, b in zip(ours or (), tokens, strict=True))
    said.append(f"{name} {same} of {len(tokens)}")
  if not said:
    return ""
  return (
      "Requests of the last case answered with the same greedy tokens as"
      f" {OURS}: {', '.join(said)}."
  )


def _contenders(contenders: Sequence[dict[str, Any]]) -> str:
  return "\n".join(
      f"- {one['name']}: " + (
          one["failure"] or f"{one['version']}; {one['settings']}"
      ) for one in contenders
  )


def gaps(
    found: Sequence[lines.Line], smoke: bool
) -> list[dict[str, Any]]:
  """Rows of `gap_table`, asked of our engine and of the products alone."""
  named = {line.entry.name: line for line in found}
  if not {OURS, FLOOR} <= named.keys():
    return []
  prompt, context = (32, 16) if smoke else (512, 256)
  rows = []
  for batch in (0, 1) if smoke else (0, 1, 4, 8, 16):
    what = f"decode {batch}" if batch else f"prefill {prompt}"
    ours = named[OURS].ask(
        "operators", batch=batch, prompt=context if batch else prompt
    ).get("ms", {})
    floor = named[FLOOR].ask(
        "operators", rows=batch or prompt, head_rows=batch or 1
    ).get("ms", {})
    rows += _gap_rows(what, ours, floor)
  return rows


def _gap_rows(
    what: str, ours: dict[str, float], floor: dict[str, float]
) -> list[dict[str, Any]]:
  """Products first, then what the floor does not have, then both sums."""
  if PRODUCTS in ours:  # their names are lost
    ours = ours | {PRODUCTS: sum(ours.get(n, 0) for n in (*floor, PRODUCTS))}
    ours = {name: ms for name, ms in ours.items() if name not in floor}
    floor = {PRODUCTS: sum(floor.values())}
  names = [*floor, *(name for name in ours if name not in floor)]
  rows = [(name, ours.get(name, 0.0), floor.get(name, 0.0)) for name in names]
  rows.append(("all", sum(ours.values()), sum(floor.values())))
  return [
      {
          "pass": what, "operator": name, "ours_ms": mine, "floor_ms": least,
          "gap_ms": mine - least,
      }
      for name, mine, least in rows
  ]


def gap_table(gaps: Sequence[dict[str, Any]]) -> str:
  """Milliseconds a pass, operator by operator, ours and the products'."""
  return _table(
      ["pass", "operator", "ours ms", "products ms", "gap ms"],
      [[str(row[key]) for key in ("pass", "operator")] + [
          f"{row[key]:.2f}" for key in ("ours_ms", "floor_ms", "gap_ms")
      ] for row in gaps],
  )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
  dashes = ["---"] * len(head)
  return "\n".join(
      f"| {' | '.join(cells)} |" for cells in (head, dashes, *rows)
  )
