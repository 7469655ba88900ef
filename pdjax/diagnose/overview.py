"""Many runs at a glance: a line a design, its seeds folded together."""

import collections
import dataclasses
import statistics
from collections.abc import Iterator, Sequence

from pdjax.diagnose.finding import TITLES, Finding


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Design:
  """Runs that differ in their seed, or the draw of their costs, alone, or one
  run, or another tool's."""

  label: str
  findings: tuple[Finding, ...]
  several: str = "seeds"
  """What the findings are of: `seeds`, or `runs` where costs were drawn."""

  @property
  def verdict(self) -> str:
    """That of most seeds; of equals the first."""
    counts = collections.Counter(each.verdict for each in self.findings)
    return counts.most_common(1)[0][0]

  @property
  def agreed(self) -> list[Finding]:
    return [each for each in self.findings if each.verdict == self.verdict]

  @property
  def share(self) -> float | None:
    """Median over the seeds that agree."""
    known = [each.share for each in self.agreed if each.share is not None]
    return statistics.median(known) if known else None


def lines(designs: Sequence[Design]) -> Iterator[str]:
  """A line a design: verdict, its share of the time, seeds that agree."""
  width = max(len(each.label) for each in designs)
  several = [each.several for each in designs if len(each.findings) > 1]
  what = "runs" if "runs" in several else "seeds" if several else ""
  for each in designs:
    count = f"{len(each.agreed)} of {len(each.findings)}"
    share = "" if each.share is None else f"{each.share:.0%}"
    yield (
        f"{each.label:<{width}}  {share:>4}"
        + (f"  {count:>8} {what}" if what else "")
        + f"  {each.verdict}: {TITLES[each.verdict]}"
    )
  yield ""
  folded = f" (the median of the {what} that agree)" if what else ""
  yield f"%: of the mean request's time, what the verdict takes{folded}."
  yield "Evidence and advice: --details, or one run's folder."
