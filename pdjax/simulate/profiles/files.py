"""Profiles read by path; which of the known formats it is, a file tells.

All known profiles are of A100 80 GB SXM, without a pipeline.
"""

from pathlib import Path

from pdjax import inputfile
from pdjax.config import ConfigError
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.profiles import distserve, splitwise
from pdjax.simulate.profiles.cost import ProfiledCost, StepTimes

CHIP = "a100-80gb-sxm"
_FIELD = "backend.costs"


def profiled(path: str, analytical: AnalyticalCost) -> ProfiledCost:
  """The cost model of the profile at `path` for what `analytical` prices.

  Raises:
    ConfigError: no such file, no such format, or it is of other models,
      layouts or chips.
  """
  layout, chip = analytical.layout, analytical.chip
  file = inputfile.path_of(path)
  times = _read(file)
  if chip.name != CHIP:
    raise _refused(path, f"it is of {CHIP}, not of {chip.name!r}")
  if layout.chips != layout.tp:
    raise _refused(path, f"it knows tensor parallelism alone, not {layout}")
  found = times.get((analytical.spec.name, layout.tp))
  if found is None:
    known = ", ".join(f"{model} tp {tp}" for model, tp in sorted(times))
    raise _refused(
        path, f"no {analytical.spec.name} tp {layout.tp} in it; it has {known}"
    )
  digest = inputfile.sha256_of(file)
  return ProfiledCost(found, analytical, f"{file.name} sha256 {digest}")


def _read(path: Path) -> dict[tuple[str, int], StepTimes]:
  if reason := inputfile.refusal(str(path)):
    raise _refused(str(path), reason)
  try:
    if path.read_text().lstrip().startswith("{"):
      return dict(distserve.read(path))
    return dict(splitwise.tables(path))
  except (KeyError, TypeError, ValueError, AttributeError) as error:
    raise _refused(
        str(path),
        "neither a profile of DistServe (JSON) nor of Splitwise (CSV):"
        f" {type(error).__name__}: {error}",
    ) from error


def _refused(path: str, reason: str) -> ConfigError:
  return ConfigError([f"{_FIELD}: {path}: {reason}"])
