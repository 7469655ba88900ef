"""NVIDIA's accelerators, sheet by sheet; units as in `pdjax.simulate.chip`."""

from pdjax.simulate.chip import Chip, giga, tera

_COREWEAVE = (
    "CoreWeave list price of 7 Feb 2024, in microsoft/vidur@7d475133"
    " vidur/config_optimizer/analyzer/constants.py"
)
_SYSTEMS = "ai-dynamo/aiconfigurator@095f58a5 aic-core systems/"
_VIEWER = "hahnyuan/LLM-Viewer hardwares/hardware_params.py"
_UNITS = (
    ("compute_units", "multiprocessors in the vendor's data sheet, recalled"),
    ("domain_chips", "HGX and DGX boards of eight"),
)
_AMPERE_LACKS = ("fp8",)
"""Tensor cores multiply fp8 from Hopper and Ada on (the H100 whitepaper)."""


def _gpu(name: str, **more) -> Chip:
  sources = _UNITS + more.pop("sources", ())
  return Chip(name=name, vendor="nvidia", sources=sources, **more)


def _a100(name: str, **more) -> Chip:
  return _gpu(
      name, **{
          "family": "a100", "bf16_flops": tera(312), "int8_ops": tera(624),
          "compute_units": 108, "domain_chips": 8,
          "interconnect": "NVLink3, 600 GB/s both ways (NVSwitch)",
          "interconnect_bytes_per_s": giga(300), "host_link": "PCIe 4.0 x16",
          "host_link_bytes_per_s": giga(32), "nic_bytes_per_s": giga(25),
          "tdp_w": 400, "multiplies_not": _AMPERE_LACKS, **more,
      }
  )


def _hopper(name: str, **more) -> Chip:
  return _gpu(
      name, **{
          "family": "hopper", "bf16_flops": tera(989.5),
          "fp8_flops": tera(1979), "int8_ops": tera(1979),
          "compute_units": 132, "domain_chips": 8,
          "interconnect": "NVLink4, 900 GB/s both ways (NVSwitch)",
          "interconnect_bytes_per_s": giga(450), "host_link": "PCIe 5.0 x16",
          "host_link_bytes_per_s": giga(64), "nic_bytes_per_s": giga(50),
          "tdp_w": 700, **more,
      }
  )


def _ga102(name: str, **more) -> Chip:
  """A40, A6000 and A10: one die, GDDR6 memory."""
  return _gpu(
      name, **{
          "family": "ga102", "hbm_bytes": giga(48), "compute_units": 84,
          "interconnect": "NVLink bridge of 2, 112.5 GB/s both ways (recalled)",
          "interconnect_bytes_per_s": giga(56.25), "domain_chips": 2,
          "host_link": "PCIe 4.0 x16", "host_link_bytes_per_s": giga(32),
          "tdp_w": 300, "multiplies_not": _AMPERE_LACKS,
          "source": f"{_VIEWER}; NVLink and TDP recalled from the data sheet",
          **more,
      }
  )


def _ada(name: str, **more) -> Chip:
  """No link but PCIe."""
  return _gpu(
      name, family="ada", interconnect="none (PCIe only)", domain_chips=1,
      host_link="PCIe 4.0 x16", host_link_bytes_per_s=giga(32), **more,
  )


GPUS = (
    _a100(
        "a100-40gb-sxm", hbm_bytes=giga(40), hbm_bytes_per_s=giga(1555),
        source=f"{_VIEWER}; NVLink and TDP from {_SYSTEMS}a100_sxm.yaml",
    ),
    _a100(
        "a100-80gb-sxm", hbm_bytes=giga(80), hbm_bytes_per_s=giga(2039),
        price_usd_per_hour=2.21, price_source=_COREWEAVE,
        source=f"{_SYSTEMS}a100_sxm.yaml",
        notes="some tables count 80 GiB; 79 to 80 GiB are usable",
    ),
    _a100(
        "a100-80gb-pcie", hbm_bytes=giga(80), hbm_bytes_per_s=giga(1935),
        interconnect="NVLink bridge of 2, 600 GB/s both ways", domain_chips=2,
        tdp_w=300, source="the vendor's data sheet, recalled",
        sources=(("domain_chips", "a bridge joins two"),),
    ),
    _a100(
        "a800-80gb-sxm", hbm_bytes=giga(80), hbm_bytes_per_s=giga(2039),
        interconnect="NVLink3, 400 GB/s both ways (NVSwitch)",
        interconnect_bytes_per_s=giga(200),
        source="as the A100 80 GB, links cut to 400 GB/s, 400 W: Tweakers"
        " (nieuws/203182), after Reuters",
    ),
    _ga102(
        "a40", bf16_flops=tera(149.7), int8_ops=tera(299.3),
        hbm_bytes_per_s=giga(696), price_usd_per_hour=1.28,
        price_source=_COREWEAVE, notes="vidur has 150 TFLOP/s and 45 GB",
        interconnect="NVLink bridge of 2, 112.5 GB/s both ways",
        source=f"{_VIEWER}; NVLink and TDP as resellers quote its data sheet",
    ),
    _ga102(
        "rtx-a6000", bf16_flops=tera(154.8), int8_ops=tera(309.7),
        hbm_bytes_per_s=giga(768),
    ),
    _ga102(
        "a10", bf16_flops=tera(125), int8_ops=tera(250), hbm_bytes=giga(24),
        hbm_bytes_per_s=giga(600), compute_units=72,
        interconnect="none (PCIe only)", interconnect_bytes_per_s=None,
        domain_chips=1, tdp_w=150, source="the vendor's data sheet, recalled",
    ),
    _hopper(
        "h100-sxm", hbm_bytes=giga(80), hbm_bytes_per_s=giga(3350),
        price_usd_per_hour=4.25, price_source=_COREWEAVE,
        source=f"{_SYSTEMS}h100_sxm.yaml",
        notes="also priced 10.8 USD/hour (Google Cloud, early 2025)",
    ),
    _hopper(
        "h100-pcie", bf16_flops=tera(756), fp8_flops=tera(1513),
        int8_ops=tera(1513), compute_units=114, hbm_bytes=giga(80),
        hbm_bytes_per_s=giga(2039), domain_chips=2,
        interconnect="NVLink bridge of 2, 600 GB/s both ways",
        interconnect_bytes_per_s=giga(300), tdp_w=350,
        source="the vendor's data sheet, recalled",
        sources=(("domain_chips", "a bridge joins two"),),
    ),
    _hopper(
        "h800-sxm", hbm_bytes=giga(80), hbm_bytes_per_s=giga(3350),
        interconnect="NVLink4, 400 GB/s both ways (NVSwitch)",
        interconnect_bytes_per_s=giga(200),
        source="as the H100 SXM, links cut to 400 GB/s; recalled",
    ),
    _hopper(
        "h200-sxm", hbm_bytes=giga(141), hbm_bytes_per_s=giga(4800),
        source=f"{_SYSTEMS}h200_sxm.yaml",
        notes="141 GB decimal; a device reports about 139 GiB",
    ),
    _gpu(
        "b200-sxm", family="blackwell", bf16_flops=tera(2250),
        fp8_flops=tera(4500), fp4_flops=tera(9000), int8_ops=tera(4500),
        hbm_bytes=giga(180), hbm_bytes_per_s=giga(7700), compute_units=148,
        interconnect="NVLink5, 1.8 TB/s both ways (NVSwitch)",
        interconnect_bytes_per_s=giga(900), domain_chips=8,
        host_link="PCIe 5.0 x16 (HGX)", host_link_bytes_per_s=giga(64),
        nic_bytes_per_s=giga(100), tdp_w=1000,
        source=f"{_SYSTEMS}b200_sxm.yaml",
        notes="sources differ: 180 GB at 7.7 TB/s (HGX) or 192 GB at 8 TB/s"
        " (launch); host link PCIe 5.0 or 6.0",
    ),
    _gpu(
        "rtx-pro-6000", family="blackwell-rtx", bf16_flops=tera(503.8),
        fp8_flops=tera(1007.6), fp4_flops=tera(2015), int8_ops=tera(1007.6),
        compute_units=188, hbm_bytes=giga(96), hbm_bytes_per_s=giga(1792),
        interconnect="none (PCIe only)", domain_chips=1,
        host_link="PCIe 5.0 x16", host_link_bytes_per_s=giga(64), tdp_w=600,
        source="the vendor's data sheet, recalled: its sparse 4-bit figure over"
        " 2, 4 and 8",
    ),
    _ada(
        "l40s", bf16_flops=tera(362.05), fp8_flops=tera(733),
        int8_ops=tera(733), hbm_bytes=giga(48), hbm_bytes_per_s=giga(864),
        compute_units=142, nic_bytes_per_s=giga(50), tdp_w=350,
        source=f"{_SYSTEMS}l40s.yaml",
    ),
    _ada(
        "l4", bf16_flops=tera(121), fp8_flops=tera(242), int8_ops=tera(242),
        hbm_bytes=giga(24), hbm_bytes_per_s=giga(300), compute_units=58,
        nic_bytes_per_s=giga(25), tdp_w=72, source=f"{_SYSTEMS}l4.yaml",
    ),
    _ada(
        "rtx-4090", bf16_flops=tera(165.2), fp8_flops=tera(330.3),
        int8_ops=tera(660.6), hbm_bytes=giga(24), hbm_bytes_per_s=giga(1008),
        compute_units=128, tdp_w=450,
        source="the vendor's Ada whitepaper, recalled",
        notes="products accumulate in float32",
    ),
)
