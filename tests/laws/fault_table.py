"""The table of docs/faults.md; `python -m tests.laws.fault_table` writes it."""

from pathlib import Path

from tests.laws.faultmatrix import CELLS, FAULTS, RULES, Cell
from tests.laws.lifecycle import IN_STATE

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "faults.md"
BEGIN, END = "<!-- fault table -->\n", "<!-- end of fault table -->\n"


def table(outcomes: dict[Cell, str]) -> str:
  """A row for each fault and the states in which it comes to the same."""
  lines = [
      "| fault | strikes a request | " + " | ".join(RULES) + " |",
      "|---" * (2 + len(RULES)) + "|",
  ]
  for fault in FAULTS:
    rows: dict[tuple[str, ...], list[str]] = {}
    for state in IN_STATE:
      found = tuple(outcomes[Cell(fault, state, rule)] for rule in RULES)
      rows.setdefault(found, []).append(state)
    for found, states in rows.items():
      cells = " | ".join(found)
      lines.append(f"| {fault} | {'; '.join(states)} | {cells} |")
  return "\n".join(lines) + "\n"


def written() -> str:
  """The table as the document has it."""
  return DOCUMENT.read_text().split(BEGIN)[1].split(END)[0]


def rewrite(made: str) -> None:
  before, rest = DOCUMENT.read_text().split(BEGIN)
  DOCUMENT.write_text(before + BEGIN + made + END + rest.split(END)[1])


if __name__ == "__main__":
  from tests.laws.test_fault_matrix import outcome_of

  rewrite(table({cell: outcome_of(cell) for cell in CELLS}))
