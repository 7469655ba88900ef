"""Data-sheet figures of the accelerators that can be simulated.

Dense peaks only (never the "with sparsity" ones). A figure that no source
states is None; asking for it through `Chip.figure` says which one is missing.
Nothing here is measured: what a program reaches is the cost model's business.

Units: `_flops` and `_ops` per second, `_bytes` bytes (decimal unless the
source counts in GiB), `_bytes_per_s` bytes per second in one direction.
"""

import dataclasses
import difflib

from pdjax.config import ConfigError

_FLOPS_OF_DTYPE = {"bfloat16": "bf16_flops", "float32": "float32_flops"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chip:
  """One accelerator."""

  name: str
  vendor: str
  bf16_flops: int | None = None
  fp8_flops: int | None = None
  fp4_flops: int | None = None
  int8_ops: int | None = None
  float32_flops: int | None = None
  hbm_bytes: int | None = None
  hbm_bytes_per_s: int | None = None
  interconnect: str = ""
  interconnect_bytes_per_s: int | None = None
  """All links of one chip to its peers together."""
  ici_links: int | None = None
  ici_link_bytes_per_s: int | None = None
  host_link: str = ""
  host_link_bytes_per_s: int | None = None
  nic_bytes_per_s: int | None = None
  """Of one chip's share of the network between hosts, as usually built."""
  host_nic_bytes_per_s: int | None = None
  """Of a whole host, where sheets give only that."""
  tdp_w: int | None = None
  price_usd_per_hour: float | None = None
  price_source: str = ""
  pod_chips: int | None = None
  source: str = ""
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

  def flops(self, dtype: str) -> int:
    """Peak FLOP/s in `dtype`; ConfigError if none is stated."""
    return self.figure(_FLOPS_OF_DTYPE[dtype])

  @property
  def peer_bytes_per_s(self) -> int:
    """To a peer in the same host: the interconnect, or else the host link."""
    return self.interconnect_bytes_per_s or self.figure("host_link_bytes_per_s")

  @property
  def ridge_flop_per_byte(self) -> float:
    """Arithmetic intensity from which bf16 work is bound by compute."""
    return self.figure("bf16_flops") / self.figure("hbm_bytes_per_s")


def _t(tera: float) -> int:
  return round(tera * 10**12)


def _g(giga: float) -> int:
  return round(giga * 10**9)


_COREWEAVE = (
    "CoreWeave list price of 7 Feb 2024, in microsoft/vidur@7d475133"
    " vidur/config_optimizer/analyzer/constants.py"
)
_GOOGLE_2025 = (
    "Google Cloud, early 2025, in jax-ml/scaling-book@0819a7d8"
    " applied-inference.md"
)
_GOOGLE_THIRD_PARTY = "third-party table of Google list prices, an estimate"
_SYSTEMS = "ai-dynamo/aiconfigurator@095f58a5 aic-core systems/"
_BOOK = "jax-ml/scaling-book@0819a7d8 tpus.md"
_TPU_INFO = "jax-ml/jax@cec06d11 jax/_src/tpu_info.py"
_TPU_DOCS = "docs.cloud.google.com/tpu/docs/"


def _a100(name: str, **more) -> Chip:
  return Chip(
      name=name, vendor="nvidia", bf16_flops=_t(312), int8_ops=_t(624),
      interconnect="NVLink3, 600 GB/s both ways (NVSwitch)",
      interconnect_bytes_per_s=_g(300), host_link="PCIe 4.0 x16",
      host_link_bytes_per_s=_g(32), nic_bytes_per_s=_g(25), tdp_w=400, **more,
  )


def _hopper(name: str, **more) -> Chip:
  return Chip(
      name=name, vendor="nvidia", bf16_flops=_t(989.5), fp8_flops=_t(1979),
      int8_ops=_t(1979), interconnect="NVLink4, 900 GB/s both ways (NVSwitch)",
      interconnect_bytes_per_s=_g(450), host_link="PCIe 5.0 x16",
      host_link_bytes_per_s=_g(64), nic_bytes_per_s=_g(50), tdp_w=700, **more,
  )


def _ga102(name: str, **more) -> Chip:
  """A40 and A6000: one die, GDDR6 memory."""
  return Chip(
      name=name, vendor="nvidia", hbm_bytes=_g(48),
      interconnect="NVLink bridge of 2, 112.5 GB/s both ways (recalled)",
      interconnect_bytes_per_s=_g(56.25), host_link="PCIe 4.0 x16",
      host_link_bytes_per_s=_g(32), tdp_w=300,
      source="hahnyuan/LLM-Viewer hardwares/hardware_params.py; NVLink and"
      " TDP recalled from the data sheet", **more,
  )


def _ada(name: str, **more) -> Chip:
  """L40S and L4: no link but PCIe."""
  return Chip(
      name=name, vendor="nvidia", interconnect="none (PCIe only)",
      host_link="PCIe 4.0 x16", host_link_bytes_per_s=_g(32), **more,
  )


def _tpu(name: str, torus: str, **more) -> Chip:
  return Chip(
      name=name, vendor="google", interconnect=f"ICI {torus} torus",
      host_link="PCIe", **more,
  )


_ALL = (
    _a100(
        "a100-40gb-sxm", hbm_bytes=_g(40), hbm_bytes_per_s=_g(1555),
        source="hahnyuan/LLM-Viewer hardwares/hardware_params.py; NVLink and"
        f" TDP from {_SYSTEMS}a100_sxm.yaml",
    ),
    _a100(
        "a100-80gb-sxm", hbm_bytes=_g(80), hbm_bytes_per_s=_g(2039),
        price_usd_per_hour=2.21, price_source=_COREWEAVE,
        source=f"{_SYSTEMS}a100_sxm.yaml",
        notes="some tables count 80 GiB; 79 to 80 GiB are usable",
    ),
    _ga102(
        "a40", bf16_flops=_t(149.7), int8_ops=_t(299.3),
        hbm_bytes_per_s=_g(696), price_usd_per_hour=1.28,
        price_source=_COREWEAVE, notes="vidur has 150 TFLOP/s and 45 GB",
    ),
    _ga102(
        "rtx-a6000", bf16_flops=_t(154.8), int8_ops=_t(309.7),
        hbm_bytes_per_s=_g(768),
    ),
    _hopper(
        "h100-sxm", hbm_bytes=_g(80), hbm_bytes_per_s=_g(3350),
        price_usd_per_hour=4.25, price_source=_COREWEAVE,
        source=f"{_SYSTEMS}h100_sxm.yaml",
        notes="also priced 10.8 USD/hour (Google Cloud, early 2025)",
    ),
    _hopper(
        "h200-sxm", hbm_bytes=_g(141), hbm_bytes_per_s=_g(4800),
        source=f"{_SYSTEMS}h200_sxm.yaml",
        notes="141 GB decimal; a device reports about 139 GiB",
    ),
    Chip(
        name="b200-sxm", vendor="nvidia", bf16_flops=_t(2250),
        fp8_flops=_t(4500), fp4_flops=_t(9000), int8_ops=_t(4500),
        hbm_bytes=_g(180), hbm_bytes_per_s=_g(7700),
        interconnect="NVLink5, 1.8 TB/s both ways (NVSwitch)",
        interconnect_bytes_per_s=_g(900), host_link="PCIe 5.0 x16 (HGX)",
        host_link_bytes_per_s=_g(64), nic_bytes_per_s=_g(100), tdp_w=1000,
        source=f"{_SYSTEMS}b200_sxm.yaml",
        notes="sources differ: 180 GB at 7.7 TB/s (HGX) or 192 GB at 8 TB/s"
        " (launch); host link PCIe 5.0 or 6.0",
    ),
    _ada(
        "l40s", bf16_flops=_t(362.05), fp8_flops=_t(733), int8_ops=_t(733),
        hbm_bytes=_g(48), hbm_bytes_per_s=_g(864), nic_bytes_per_s=_g(50),
        tdp_w=350, source=f"{_SYSTEMS}l40s.yaml",
    ),
    _ada(
        "l4", bf16_flops=_t(121), fp8_flops=_t(242), int8_ops=_t(242),
        hbm_bytes=_g(24), hbm_bytes_per_s=_g(300), nic_bytes_per_s=_g(25),
        tdp_w=72, source=f"{_SYSTEMS}l4.yaml",
    ),
    _tpu(
        "tpu-v4", "3D", bf16_flops=_t(275), int8_ops=_t(275),
        hbm_bytes=_g(34.36), hbm_bytes_per_s=_g(1228),
        interconnect_bytes_per_s=_g(270), ici_links=6,
        ici_link_bytes_per_s=_g(45), host_link_bytes_per_s=_g(16),
        host_nic_bytes_per_s=_g(25), tdp_w=192, price_usd_per_hour=3.22,
        price_source=_GOOGLE_THIRD_PARTY, pod_chips=4096,
        source=f"{_BOOK}; {_TPU_DOCS}v4; {_TPU_INFO}",
        notes="tdp_w is the measured maximum (mean 170 W)",
    ),
    _tpu(
        "tpu-v5e", "2D", bf16_flops=_t(197), int8_ops=_t(394),
        hbm_bytes=_g(17.18), hbm_bytes_per_s=_g(819),
        interconnect_bytes_per_s=_g(180), ici_links=4,
        ici_link_bytes_per_s=_g(45), host_link_bytes_per_s=_g(15),
        host_nic_bytes_per_s=_g(25), price_usd_per_hour=1.2,
        price_source=_GOOGLE_2025, pod_chips=256,
        source=f"{_BOOK}; {_TPU_DOCS}v5e",
        notes="the vendor counts 50 GB/s a link, the book 45",
    ),
    _tpu(
        "tpu-v5p", "3D", bf16_flops=_t(459), int8_ops=_t(918),
        hbm_bytes=_g(102), hbm_bytes_per_s=_g(2765),
        interconnect_bytes_per_s=_g(540), ici_links=6,
        ici_link_bytes_per_s=_g(90), host_link_bytes_per_s=_g(15),
        host_nic_bytes_per_s=_g(25), price_usd_per_hour=4.2,
        price_source=_GOOGLE_2025, pod_chips=8960,
        source=f"{_BOOK}; {_TPU_DOCS}v5p; {_TPU_INFO}",
        notes="sources differ on HBM: 2765, 2800 or 2460 GB/s",
    ),
    _tpu(
        "tpu-v6e", "2D", bf16_flops=_t(918), fp8_flops=_t(918),
        int8_ops=_t(1836), hbm_bytes=_g(34.36), hbm_bytes_per_s=_g(1638),
        interconnect_bytes_per_s=_g(360), ici_links=4,
        ici_link_bytes_per_s=_g(90), host_link_bytes_per_s=_g(32),
        host_nic_bytes_per_s=_g(25), price_usd_per_hour=2.7,
        price_source=_GOOGLE_THIRD_PARTY, pod_chips=256,
        source=f"{_TPU_DOCS}tpu7x; {_BOOK}; {_TPU_INFO}",
        notes="HBM and ICI recalled from the vendor's pages",
    ),
    _tpu(
        "tpu-v7x", "3D", bf16_flops=_t(2307), fp8_flops=_t(4614),
        hbm_bytes=_g(206.2), hbm_bytes_per_s=_g(7380), pod_chips=9216,
        source=f"{_TPU_DOCS}tpu7x; {_TPU_INFO}",
        notes="HBM bandwidth recalled; links, host link and power unknown",
    ),
)

CHIPS: dict[str, Chip] = {chip.name: chip for chip in _ALL}


def chip(name: str) -> Chip:
  """The chip of this name.

  Raises:
    ConfigError: no such chip.
  """
  if name in CHIPS:
    return CHIPS[name]
  close = difflib.get_close_matches(name.lower(), CHIPS, n=1, cutoff=0.4)
  hint = f"did you mean {close[0]!r}? " if close else ""
  raise ConfigError(
      [f"cluster.chip: unknown chip {name!r}; {hint}known: {', '.join(CHIPS)}"]
  )
