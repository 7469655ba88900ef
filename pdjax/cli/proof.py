"""What makes measured runs believable, as a table under their figures.

Padding, compiles and leaks can fake or hide an effect, and tokens show whether
the runs did the same work: greedy float32 tokens do not depend on strategy,
split or batch mates, up to a request's first tie.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pdjax.metrics.conditions import comparable
from pdjax.report import labels
from pdjax.sweep import jsonfile

PADDING_POINTS = 5
"""Runs whose padding differs by more are no fair comparison."""

_HEAD = (
    f"{'':<20}{'padding':>9}{'programs':>10}{'compiles':>10}{'pages':>8}"
    f"{'generator':>11}{'tokens as in a':>17}\n"
    f"{'':<20}{'%':>9}{'':>10}{'in window':>10}{'leaked':>8}"
    f"{'max lag,ms':>11}{'plain forward':>17}"
)


def proof(runs: Sequence[tuple[str, Path]]) -> str:
  """A table of the measured runs among (label, folder); empty without any."""
  names, _ = labels.shortened([label for label, _ in runs])
  found = [
      (label, folder, jsonfile.read(folder / "summary.json"))
      for label, (_, folder) in zip(names, runs, strict=True)
  ]
  measured = [one for one in found if one[2]["kind"] == "measured"]
  if not measured:
    return ""
  lines = ["Checks", _HEAD, *(_row(label, row) for label, _, row in measured)]
  lines += _padding(measured)
  lines += ["", *_identity([(label, folder) for label, folder, _ in measured])]
  return "\n".join(lines).rstrip()


def _padding(measured: Sequence[tuple[str, Path, dict]]) -> list[str]:
  """A warning where one run computes far more padding than another."""
  shares = [100 * row["padded_token_fraction"] for _, _, row in measured]
  spread = max(shares) - min(shares)
  if spread <= PADDING_POINTS:
    return []
  return [
      f"! padding differs by {spread:.0f} points: part of what the runs differ"
      " by is padding, not strategy"
  ]


def _row(label: str, row: dict[str, Any]) -> str:
  cells = (
      f"{100 * row['padded_token_fraction']:>9.1f}",
      f"{row['programs']:>10}",
      f"{row['compiles_in_window']:>10}",
      f"{row['pages_leaked']:>8}",
      f"{row['max_generator_lag_ms'] or 0:>11.2f}",
      f"{_verified(row):>17}",
  )
  return labels.row(label, "".join(cells))


def _verified(row: dict[str, Any]) -> str:
  if not row.get("verified_tokens"):
    return "not verified"
  good = row["verified_tokens_equal"] + row["verified_tokens_tied"]
  return f"{good} of {row['verified_tokens']}"


def _identity(runs: Sequence[tuple[str, Path]]) -> list[str]:
  """A line for each run that must have the first one's tokens."""
  (first, folder), *others = runs
  conditions = jsonfile.read(folder / "conditions.json")
  lines = []
  for label, other in others:
    if _same_tokens_due(conditions, jsonfile.read(other / "conditions.json")):
      lines.append(f"Tokens of {label} and {first}: {_agree(folder, other)}")
  return lines


def _same_tokens_due(a: dict[str, Any], b: dict[str, Any]) -> bool:
  contract = a["contract"]
  greedy = contract["sampling"]["temperature"] == 0
  # Whatever else differs, the device count changes no token.
  return greedy and not set(comparable(a, b)) - {"chips", "slo"}


def _agree(ours: Path, theirs: Path) -> str:
  from pdjax.engine.agreement import compare_answers

  our_answers, their_answers = _answers(ours), _answers(theirs)
  each = [
      compare_answers(answer, their_answers.get(id, ((), ())))
      for id, answer in our_answers.items()
  ]
  identical = sum(one.equal == one.checked for one in each)
  parted = sum(one.ties for one in each)
  different = sum(one.different for one in each)
  skipped = sum(one.not_compared for one in each)
  text = f"{identical} of {len(each)} requests identical"
  if parted:
    text += f", {parted} part at a tie ({skipped} tokens after it not compared)"
  return text + (f", {different} DIFFER" if different else "")


def _answers(folder: Path) -> dict[int, tuple[list[int], list[float]]]:
  """Tokens and gaps by request."""
  import pyarrow.parquet as pq

  rows = pq.read_table(folder / "tokens.parquet").to_pydict()
  answers = zip(rows["tokens"], rows["gaps"], strict=True)
  return dict(zip(rows["request"], answers, strict=True))
