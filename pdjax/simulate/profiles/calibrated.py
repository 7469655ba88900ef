"""One's own engine's step costs, as `pdjax.calibrate` writes them.

A JSON object; its member `pdjax.calibration` is the version of the format. It
holds the fitted prices, what they were fitted on and how far they are off on
steps left out, the range that was measured, and who measured.

Units: `_ps` picoseconds, `_bytes` bytes.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.schedule.cost import StepShape
from pdjax.segments import Segment
from pdjax.simulate.chip import Chip
from pdjax.simulate.chips import of_device
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.drawn import drawn_prices
from pdjax.simulate.fittedcost import PRICES, FittedCost, Padding
from pdjax.simulate.links import Link
from pdjax.simulate.profiles.cost import ProfiledCost
from pdjax.simulate.rates import ps_of
from pdjax.simulate.sharing import NEIGHBOURS, Sharing

VERSION_KEY = "pdjax.calibration"
VERSION = 3
_MOST = 10**15
"""Of any number: a step of a quarter of an hour, a link of a petabyte/s."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Range:
  """The largest of each that was measured; beyond it prices extrapolate."""

  prompt_tokens: int
  """In one pass."""
  cached_tokens: int
  """Before a chunk."""
  sequences: int
  """That decode in one pass."""
  context_tokens: int
  """Attended to by all decodes of a pass."""

  def holds(self, shape: StepShape) -> bool:
    tokens = sum(tokens for tokens, _ in shape.prefill)
    cached = max((cached for _, cached in shape.prefill), default=0)
    last = shape.decode_context_tokens + shape.decode_seqs * (shape.repeats - 1)
    return (
        tokens <= self.prompt_tokens
        and cached <= self.cached_tokens
        and shape.decode_seqs <= self.sequences
        and last <= self.context_tokens
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Calibration:
  """A file's content, as far as prices need it."""

  model: str
  tp: int
  dtype: str | None
  """Everything was measured in; None: the file does not say."""
  cost: FittedCost
  link: Link | None
  """None: no hand-off was measured."""
  range: Range
  accuracy: str
  device: str | None
  """Kind of what it was measured on; None: the file does not say."""
  error: float | None = None
  """Of steps left out, the median; None: the file does not say."""

  def drawn(self, draw: int) -> "Calibration":
    """The same with prices drawn within their error; 0 leaves them.

    Raises:
      ValueError: the file does not say how far it is off.
    """
    if draw and self.error is None:
      raise ValueError("it has no errors of steps left out to draw within")
    cost = drawn_prices(self.cost, draw, self.error or 0.0)
    return dataclasses.replace(self, cost=cost)

  def mismatch(self, model: str, layout: Layout, dtypes: Dtypes) -> str | None:
    """Why it prices no such engine, in words; None if it does."""
    wanted, of = model, self.model
    if (self.model, Layout(tp=self.tp)) != (model, layout):
      wanted, of = f"{model} {layout}", f"{self.model} tp {self.tp}"
    elif self.dtype is not None and dtypes != Dtypes.all(self.dtype):
      wanted, of = f"{model} {dtypes}", f"{self.model} {self.dtype}"
    return None if wanted == of else f"it is of {of}, not of {wanted}"

  def segments(self, shape: StepShape) -> tuple[Segment, ...]:
    return self.cost.step(shape)

  def provenance_of(self, shape: StepShape) -> str:
    return "measured" if self.range.holds(shape) else "extrapolated"


class CalibratedCost(ProfiledCost):
  """Prices steps and copies of pages as they were measured.

  Its chip is the device that was measured, of which nothing else is known
  unless it is the one that the config names: of that it has the memory.
  """

  def __init__(
      self, calibration: Calibration, analytical: AnalyticalCost, name: str
  ):
    super().__init__(calibration, analytical, name)
    self._calibration = calibration
    device = calibration.device
    if device is not None and of_device(device) != self.chip:
      self.chip = Chip(name=device, hbm_bytes=self.chip.hbm_bytes)

  @property
  def fitted(self) -> FittedCost:
    """What prices its steps, busy neighbours included."""
    return self._calibration.cost

  @property
  def device(self) -> str | None:
    """What its prices were measured on, whatever chip a config names."""
    return self._calibration.device

  @property
  def elsewhere(self) -> bool:
    """Whether, for all that is known, it was not measured on the chip that the
    config names."""
    return of_device(self.device or "") != self.analytical.chip

  @property
  def link(self) -> Link | None:
    """Between its workers, as measured; None: it saw no hand-off."""
    return self._calibration.link

  @property
  def provenance(self) -> dict[str, Any]:
    return super().provenance | {
        "kind": "calibrated",
        "accuracy": self._calibration.accuracy,
        "copies": "calibrated",
        "rise_beside_a_busy_neighbour_ps": {
            kind: dict(zip(PRICES, rises, strict=True))
            for kind, rises in dataclasses.asdict(self.fitted.sharing).items()
            if rises
        },
    }

  def transfer_bytes(self, tokens: int) -> int:
    return self._calibration.cost.transfer_bytes(tokens)

  def gather_ps(self, size_bytes: int) -> int:
    return self._calibration.cost.gather_ps(size_bytes)

  def scatter_ps(self, size_bytes: int) -> int:
    return self._calibration.cost.scatter_ps(size_bytes)


def is_calibration(tree: Any) -> bool:
  return isinstance(tree, Mapping) and VERSION_KEY in tree


def read(tree: Mapping[str, Any]) -> Calibration:
  """What a file says.

  Raises:
    ValueError, KeyError, TypeError: it is not of the format.
  """
  if tree[VERSION_KEY] != VERSION:
    raise ValueError(
        f"calibration format {tree[VERSION_KEY]!r}, this pdjax reads {VERSION}"
    )
  made_by = tree.get("made_by", {})
  return Calibration(
      model=_text(tree, "model"),
      tp=_whole(tree, "tp", least=1),
      dtype=_text(made_by, "dtype") if "dtype" in made_by else None,
      cost=_cost(tree),
      link=None if tree["link"] is None else _link(tree["link"]),
      range=Range(**{
          field.name: _whole(tree["range"], field.name)
          for field in dataclasses.fields(Range)
      }),
      accuracy=_text(tree, "accuracy"),
      device=_text(made_by, "device") if "device" in made_by else None,
      error=_error(tree.get("errors", ())),
  )


def _error(errors: Sequence[Mapping[str, Any]]) -> float | None:
  """Of all kinds of steps together."""
  each = [one for one in errors if one.get("kind") == "all"]
  return _number(each[0], "median") if each else None


def _link(tree: Mapping[str, Any]) -> Link:
  return Link(
      _whole(tree, "bandwidth_bytes_per_s", least=1),
      ps_of(_number(tree, "latency_s")),
  )


def _cost(tree: Mapping[str, Any]) -> FittedCost:
  prices, padding, copies = tree["prices"], tree["padding"], tree["copies"]
  return FittedCost(
      **{name: int(_number(prices, name)) for name in PRICES},
      gather_fixed_ps=int(_number(copies, "gather_fixed_ps")),
      scatter_fixed_ps=int(_number(copies, "scatter_fixed_ps")),
      copy_ps_per_byte=_number(copies, "copy_ps_per_byte"),
      kv_bytes_per_token=_whole(tree, "kv_bytes_per_token", least=1),
      padding=Padding(
          sequences=_sizes(padding, "sequences"),
          prompt_tokens=_sizes(padding, "prompt_tokens"),
      ),
      sharing=_sharing(tree["sharing"]),
  )


def _sharing(tree: Any) -> Sharing:
  """By kind of neighbours; a kind that is not said costs nothing."""
  if not isinstance(tree, Mapping) or not tree.keys() <= {*NEIGHBOURS}:
    raise ValueError(f"sharing: expected {' and '.join(NEIGHBOURS)}")
  return Sharing(**{
      kind: tuple([int(_number(rises, name)) for name in PRICES])
      for kind, rises in tree.items()
  })


# Members, each of the kind and in the range it is written in. -----------------


def _number(tree: Mapping[str, Any], name: str, least: float = 0) -> float:
  value = tree[name]
  if type(value) not in (int, float) or not least <= value <= _MOST:
    raise ValueError(f"{name}: expected a number from {least}, got {value!r}")
  return value


def _whole(tree: Mapping[str, Any], name: str, least: int = 0) -> int:
  value = _number(tree, name, least)
  if not isinstance(value, int):
    raise ValueError(f"{name}: expected a whole number, got {value!r}")
  return value


def _text(tree: Mapping[str, Any], name: str) -> str:
  if not isinstance(tree[name], str):
    raise ValueError(f"{name}: expected text, got {tree[name]!r}")
  return tree[name]


def _sizes(tree: Mapping[str, Any], name: str) -> tuple[int, ...]:
  """Compiled sizes, ascending; none said: nothing is padded."""
  sizes = tree.get(name, [])
  if not isinstance(sizes, list):
    raise ValueError(f"{name}: expected a list, got {sizes!r}")
  found = tuple(_whole({name: size}, name, least=1) for size in sizes)
  if list(found) != sorted(set(found)):
    raise ValueError(f"{name}: expected ascending sizes, got {sizes!r}")
  return found
