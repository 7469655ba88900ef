"""Profiles read by path; which of the known formats it is, a file tells.

Published profiles are of A100 80 GB SXM, without a pipeline. A calibration is
of the devices it was made on; a config names any chip beside it, which then
says what that chip's sheet says and prices no step.
"""

import csv
import json
from pathlib import Path

from pdjax import inputfile
from pdjax.config import NAMED_COSTS, ConfigError
from pdjax.dtypes import Dtypes
from pdjax.fieldtypes import nearest
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.profiles import calibrated, distserve, splitwise
from pdjax.simulate.profiles.calibrated import CalibratedCost, Calibration
from pdjax.simulate.profiles.cost import ProfiledCost, StepTimes

CHIP = "a100-80gb-sxm"
_FIELD = "backend.costs"
_DAMAGE = (
    KeyError, TypeError, ValueError, AttributeError, RecursionError, OSError,
    csv.Error,
)


def profiled(
    path: str, analytical: AnalyticalCost, draw: int = 0
) -> ProfiledCost:
  """The cost model of the profile at `path` for what `analytical` prices.

  `draw`: of a calibration's prices, within their error.

  Raises:
    ConfigError: no such file, no such format, or it is of other models,
      layouts or chips, or says no error to draw within.
  """
  layout, chip = analytical.layout, analytical.chip
  file = inputfile.path_of(path)
  times = _read(file)
  if isinstance(times, Calibration):
    return _calibrated(times, analytical, file, draw)
  if draw:
    raise _refused(
        path, "a published profile, which does not say how far it is off; only"
        " assumed, fitted and calibrated costs can be drawn", "backend.draw"
    )
  if chip.name != CHIP:
    raise _refused(path, f"it is of {CHIP}, not of {chip.name!r}")
  if analytical.dtypes != Dtypes():
    raise _refused(path, f"it is of {Dtypes()}, not of {analytical.dtypes}")
  if layout.chips != layout.tp:
    raise _refused(path, f"it knows tensor parallelism alone, not {layout}")
  found = times.get((analytical.spec.name, layout.tp))
  if found is None:
    known = ", ".join(f"{model} tp {tp}" for model, tp in sorted(times))
    raise _refused(
        path, f"no {analytical.spec.name} tp {layout.tp} in it; it has {known}"
    )
  return ProfiledCost(found, analytical.required(), _name(file))


def calibration(path: str, field: str = _FIELD) -> Calibration:
  """The calibration at `path`, named by a field of a config.

  Raises:
    ConfigError: there is none.
  """
  found = _read(inputfile.path_of(path), field)
  if not isinstance(found, Calibration):
    raise _refused(path, "a published profile, not a calibration", field)
  return found


def _calibrated(
    found: Calibration, analytical: AnalyticalCost, file: Path, draw: int
) -> ProfiledCost:
  reason = found.mismatch(
      analytical.spec.name, analytical.layout, analytical.dtypes
  )
  if reason is not None:
    raise _refused(str(file), reason)
  try:
    drawn = found.drawn(draw)
  except ValueError as error:
    raise _refused(str(file), str(error), "backend.draw") from error
  return CalibratedCost(drawn, analytical, _name(file))


def _name(file: Path) -> str:
  return f"{file.name} sha256 {inputfile.sha256_of(file)}"


def _read(
    path: Path, field: str = _FIELD
) -> dict[tuple[str, int], StepTimes] | Calibration:
  most = inputfile.READ_WHOLE_BYTES
  if reason := inputfile.refusal(str(path), most):
    if field == _FIELD and (close := nearest(str(path), NAMED_COSTS)):
      reason += f"; did you mean {close!r}?"
    raise _refused(str(path), reason, field)
  what = (
      "neither a calibration, nor a profile of DistServe (JSON) or of"
      " Splitwise (CSV)"
  )
  try:
    text = path.read_text()
    if text.lstrip().startswith("{"):
      tree = json.loads(text)
      if calibrated.is_calibration(tree):
        what = "a damaged calibration"
        return calibrated.read(tree)
      found: dict[tuple[str, int], StepTimes] = dict(distserve.read(path))
    else:
      found = dict(splitwise.tables(path))
  except _DAMAGE as error:
    raise _refused(
        str(path), f"{what}: {type(error).__name__}: {error}", field
    ) from error
  if not found:
    raise _refused(str(path), what, field)
  return found


def _refused(path: str, reason: str, field: str = _FIELD) -> ConfigError:
  return ConfigError([f"{field}: {path}: {reason}"])
