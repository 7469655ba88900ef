"""One accelerator's data sheet: what it is, not what a program reaches.

Dense peaks only (never the "with sparsity" ones). A figure that no source
states is None; asking for it through `Chip.figure` says which one is missing.

Units: `_flops` and `_ops` per second, `_bytes` bytes (decimal unless the
source counts in GiB), `_bytes_per_s` bytes per second in one direction (of
memory, reads and writes together).
"""

import dataclasses

from pdjax.config import ConfigError

PEAK_OF_DTYPE = {
    "float32": "float32_flops",
    "bfloat16": "bf16_flops",
    "fp8": "fp8_flops",
    "int8": "int8_ops",
}

_NEEDED_FOR = {
    **{
        figure: f"of products in {dtype}"
        for dtype, figure in PEAK_OF_DTYPE.items()
    },
    "hbm_bytes": "memory of a chip",
    "hbm_bytes_per_s": "bandwidth of its memory",
    "interconnect_bytes_per_s": "to chips of the same host",
    "ici_link_bytes_per_s": "of one link to a neighbouring chip",
    "host_link_bytes_per_s": "to chips of the same host, where no"
    " interconnect_bytes_per_s is said",
    "nic_bytes_per_s": "of one chip to other hosts",
}
"""Figures that prices ask for, and of what they are."""


class MissingFigure(ConfigError):
  """A figure of a chip is needed, and none is stated."""

  def __init__(self, figure: str, line: str):
    super().__init__([line])
    self.figure = figure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
  """One accelerator."""

  name: str
  vendor: str = "unknown"
  """Who makes it."""
  family: str = ""
  """Chips of one architecture; fitted scalars hold for a family."""
  bf16_flops: int | None = None
  """Dense peak of products in bfloat16."""
  fp8_flops: int | None = None
  """Dense peak in fp8."""
  fp4_flops: int | None = None
  """Dense peak in fp4, in which no product is priced."""
  int8_ops: int | None = None
  """Dense peak in int8."""
  float32_flops: int | None = None
  """Dense peak in float32."""
  compute_units: int | None = None
  """Multiprocessors that tiles of a matrix product are dealt to."""
  matrix_tile: int | None = None
  """Side of the systolic array that matrices are padded to."""
  hbm_bytes: int | None = None
  """Memory of one chip."""
  hbm_bytes_per_s: int | None = None
  """Its bandwidth, reads and writes together."""
  interconnect: str = ""
  """What joins chips, in words."""
  interconnect_bytes_per_s: int | None = None
  """All links of one chip to its peers together."""
  domain_chips: int | None = None
  """Chips that the interconnect joins; not said: those of a host."""
  torus_axes: int = 0
  """Dimensions of the interconnect where it is a torus; else 0, a switch."""
  ici_links: int | None = None
  """Links of one chip where it is a torus."""
  ici_link_bytes_per_s: int | None = None
  """One link of a torus."""
  host_link: str = ""
  """What joins a chip and its host, in words."""
  host_link_bytes_per_s: int | None = None
  """That link: the way to a peer where there is no interconnect."""
  host_chips: int = 8
  """Chips of one host, as usually built."""
  nic_bytes_per_s: int | None = None
  """Of one chip's share of the network between hosts, as usually built."""
  host_nic_bytes_per_s: int | None = None
  """Of a whole host, where sheets give only that."""
  tdp_w: int | None = None
  """Power that it is built for."""
  price_usd_per_hour: float | None = None
  """Rent of one chip."""
  price_source: str = ""
  """Where the price is from."""
  pod_chips: int | None = None
  """Chips of the largest torus."""
  source: str = ""
  """Where the figures are from."""
  sources: tuple[tuple[str, str], ...] = ()
  """(figure, where it is from) of those that are not from `source`."""
  notes: str = ""
  """What else there is to know."""
  multiplies_not: tuple[str, ...] = ()
  """Formats that it is known to have no arithmetic for."""
  own: bool = False
  """Described by a config."""

  def figure(self, name: str) -> int:
    """The figure `name`.

    Raises:
      MissingFigure: no source states it.
    """
    value = getattr(self, name)
    if value is None:
      raise MissingFigure(name, self._missing(name))
    return value

  def _missing(self, name: str) -> str:
    """A line on a figure that is not stated, and on how to state it."""
    what = _NEEDED_FOR[name]
    if self.own:
      return f"cluster.chips.{self.name}.{name}: needed ({what}), not said"
    own = f"{{'mine': {{'like': {self.name!r}, {name!r}: ...}}}}"
    return (
        f"cluster.chip: no source states {name} of chip {self.name!r} ({what});"
        f" say it of a chip of your own, cluster.chips={own}"
    )

  def source_of(self, name: str) -> str:
    """Where the figure `name` is from."""
    if name == "price_usd_per_hour":
      return self.price_source
    return dict(self.sources).get(name, self.source)

  def flops(self, dtype: str) -> int:
    """Peak FLOP/s in `dtype`.

    Raises:
      ConfigError: it is known to multiply nothing in it.
      MissingFigure: no source states the peak.
    """
    if dtype in self.multiplies_not and not self.multiplies(dtype):
      raise ConfigError([
          f"model.product_dtype: chip {self.name!r} multiplies no {dtype};"
          " left unsaid, products are in model.dtype, whatever weights are"
          " kept in"
      ])
    return self.figure(PEAK_OF_DTYPE[dtype])

  def multiplies(self, dtype: str) -> bool:
    """Whether a peak is stated for products in `dtype`."""
    figure = PEAK_OF_DTYPE.get(dtype)
    return figure is not None and getattr(self, figure) is not None

  @property
  def joined_chips(self) -> int:
    """Chips that one interconnect joins; 1 where there is none."""
    if self.torus_axes or self.interconnect_bytes_per_s:
      return self.domain_chips or self.host_chips
    return 1

  @property
  def peer_bytes_per_s(self) -> int:
    """To a peer in the same host: the interconnect, or else the host link."""
    return self.interconnect_bytes_per_s or self.figure("host_link_bytes_per_s")

  @property
  def network_bytes_per_s(self) -> int:
    """To a chip of another host, one chip's share."""
    if self.nic_bytes_per_s is None and self.host_nic_bytes_per_s:
      return self.host_nic_bytes_per_s // self.host_chips
    return self.figure("nic_bytes_per_s")

  @property
  def ridge_flop_per_byte(self) -> float:
    """Arithmetic intensity from which bf16 work is bound by compute."""
    return self.figure("bf16_flops") / self.figure("hbm_bytes_per_s")


def tera(amount: float) -> int:
  return round(amount * 10**12)


def giga(amount: float) -> int:
  return round(amount * 10**9)
