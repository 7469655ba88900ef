"""Runs that differ in their seed alone, taken together: means and ratios.

What strategies are compared by is a ratio paired by seed; where the contracts
differ in more than what a seed draws, none is formed.
"""

from collections.abc import Sequence

from pdjax.metrics import ratios, replications
from pdjax.metrics.conditions import comparable
from pdjax.report.bounded import BOTH_ALL, serve_all
from pdjax.report.designs import Seeds, designs_of, label_of
from pdjax.report.groups import ReportedRun

FIGURE = "request_goodput_per_chip"


def over_seeds(runs: Sequence[ReportedRun]) -> str:
  """A line for each design with several seeds; empty without any."""
  designs = [each for each in designs_of(runs) if len(each) > 1]
  if not designs:
    return ""
  lines = ["Over seeds, 95 % intervals (Student's t over replications)"]
  for place, each in enumerate(designs):
    fair = (base for base in designs[:place] if _fair(each, base))
    base = next(fair, None)
    ratio = "" if base is None else _ratio(each, base)
    lines.append(
        f"{label_of(each)}: {len(each)} seeds{_attainment(each)}{ratio}"
    )
  return "\n".join(lines)


def _attainment(each: Seeds) -> str:
  rows = [run.summary for run in each.values()]
  if any(row.get("slo_attainment") is None for row in rows):
    return ""
  sent = [row["sent"] - row.get("aborted", 0) for row in rows]
  good = [
      row["slo_attainment"] * count
      for row, count in zip(rows, sent, strict=True)
  ]
  found = replications.of_shares(good, sent)
  if found.low is None or found.high is None or found.estimate is None:
    return ""
  return (
      f"; SLO {100 * found.estimate:.1f} %"
      f" [{100 * found.low:.1f}, {100 * found.high:.1f}]"
  )

def _fair(each: Seeds, base: Seeds) -> bool:
  """Whether runs of one seed may form a ratio; per chip, chips may differ."""
  common = each.keys() & base.keys()
  return bool(common) and all(
      set(comparable(base[seed].conditions, each[seed].conditions)) <= {"chips"}
      for seed in common
  )

def _ratio(each: Seeds, base: Seeds) -> str:
  """Goodput per chip against another design."""
  found = ratios.paired(_goodput(each), _goodput(base))
  ends = f" ({BOTH_ALL})" if _serve_all(each) and _serve_all(base) else ""
  return f"; goodput a chip against {label_of(base)}: {found}{ends}"

def _serve_all(each: Seeds) -> bool:
  return serve_all(list(each.values()))

def _goodput(each: Seeds) -> dict[int, float]:
  return {
      seed: run.summary[FIGURE]
      for seed, run in each.items()
      if run.summary.get(FIGURE) is not None
  }
