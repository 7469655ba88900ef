"""One accelerator's data sheet: what it is, not what a program reaches.

Dense peaks only (never the "with sparsity" ones). A figure that no source
states is None; asking for it through `Chip.figure` says which one is missing.

Units: `_flops` and `_ops` per second, `_bytes` bytes (decimal unless the
source counts in GiB), `_bytes_per_s` bytes per second in one direction.
"""

import dataclasses

from pdjax.config import ConfigError

PEAK_OF_DTYPE = {
    "float32": "float32_flops",
    "bfloat16": "bf16_flops",
    "fp8": "fp8_flops",
    "int8": "int8_ops",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
  """One accelerator."""

  name: str
  vendor: str = "unknown"
  family: str = ""
  """Chips of one architecture; fitted scalars hold for a family."""
  bf16_flops: int | None = None
  fp8_flops: int | None = None
  fp4_flops: int | None = None
  int8_ops: int | None = None
  float32_flops: int | None = None
  compute_units: int | None = None
  """Multiprocessors that tiles of a matrix product are dealt to."""
  matrix_tile: int | None = None
  """Side of the systolic array that matrices are padded to."""
  hbm_bytes: int | None = None
  hbm_bytes_per_s: int | None = None
  interconnect: str = ""
  interconnect_bytes_per_s: int | None = None
  """All links of one chip to its peers together."""
  domain_chips: int | None = None
  """Chips that the interconnect joins."""
  torus_axes: int = 0
  """Dimensions of the interconnect where it is a torus; else 0, a switch."""
  ici_links: int | None = None
  ici_link_bytes_per_s: int | None = None
  host_link: str = ""
  host_link_bytes_per_s: int | None = None
  host_chips: int = 8
  """Chips of one host, as usually built."""
  nic_bytes_per_s: int | None = None
  """Of one chip's share of the network between hosts, as usually built."""
  host_nic_bytes_per_s: int | None = None
  """Of a whole host, where sheets give only that."""
  tdp_w: int | None = None
  price_usd_per_hour: float | None = None
  price_source: str = ""
  pod_chips: int | None = None
  source: str = ""
  sources: tuple[tuple[str, str], ...] = ()
  """(figure, where it is from) of those that are not from `source`."""
  notes: str = ""

  def figure(self, name: str) -> int:
    """The figure `name`.

    Raises:
      ConfigError: no source states it.
    """
    value = getattr(self, name)
    if value is None:
      raise ConfigError(
          [f"cluster.chip: no source states {name} of chip {self.name!r}"]
      )
    return value

  def source_of(self, name: str) -> str:
    """Where the figure `name` is from."""
    if name == "price_usd_per_hour":
      return self.price_source
    return dict(self.sources).get(name, self.source)

  def flops(self, dtype: str) -> int:
    """Peak FLOP/s in `dtype`; ConfigError if none is stated."""
    return self.figure(PEAK_OF_DTYPE[dtype])

  def multiplies(self, dtype: str) -> bool:
    """Whether a peak is stated for products in `dtype`."""
    figure = PEAK_OF_DTYPE.get(dtype)
    return figure is not None and getattr(self, figure) is not None

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
