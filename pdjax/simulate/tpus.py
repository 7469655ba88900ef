"""Google's accelerators, sheet by sheet; units as in `pdjax.simulate.chip`."""

from pdjax.simulate.chip import Chip, giga, tera

_GOOGLE_2025 = (
    "Google Cloud, early 2025, in jax-ml/scaling-book@0819a7d8"
    " applied-inference.md"
)
_THIRD_PARTY = "third-party table of Google list prices, an estimate"
_BOOK = "jax-ml/scaling-book@0819a7d8 tpus.md"
_TPU_INFO = "jax-ml/jax@cec06d11 jax/_src/tpu_info.py"
_DOCS = "docs.cloud.google.com/tpu/docs/"


def _tpu(name: str, axes: int, pod_chips: int, **more) -> Chip:
  return Chip(
      name=name, vendor="google", family=name, host_link="PCIe",
      interconnect=f"ICI {axes}D torus", torus_axes=axes,
      domain_chips=pod_chips, pod_chips=pod_chips,
      sources=(("matrix_tile", _BOOK), ("host_chips", _BOOK)), **more,
  )


TPUS = (
    _tpu(
        "tpu-v4", 3, 4096, bf16_flops=tera(275), int8_ops=tera(275),
        matrix_tile=128, hbm_bytes=giga(34.36), hbm_bytes_per_s=giga(1228),
        interconnect_bytes_per_s=giga(270), ici_links=6,
        ici_link_bytes_per_s=giga(45), host_link_bytes_per_s=giga(16),
        host_chips=4, host_nic_bytes_per_s=giga(25), tdp_w=192,
        price_usd_per_hour=3.22, price_source=_THIRD_PARTY,
        source=f"{_BOOK}; {_DOCS}v4; {_TPU_INFO}",
        notes="tdp_w is the measured maximum (mean 170 W)",
    ),
    _tpu(
        "tpu-v5e", 2, 256, bf16_flops=tera(197), int8_ops=tera(394),
        matrix_tile=128, hbm_bytes=giga(17.18), hbm_bytes_per_s=giga(819),
        interconnect_bytes_per_s=giga(180), ici_links=4,
        ici_link_bytes_per_s=giga(45), host_link_bytes_per_s=giga(15),
        host_chips=8, host_nic_bytes_per_s=giga(25), price_usd_per_hour=1.2,
        price_source=_GOOGLE_2025, source=f"{_BOOK}; {_DOCS}v5e",
        notes="the vendor counts 50 GB/s a link, the book 45",
    ),
    _tpu(
        "tpu-v5p", 3, 8960, bf16_flops=tera(459), int8_ops=tera(918),
        matrix_tile=128, hbm_bytes=giga(102), hbm_bytes_per_s=giga(2765),
        interconnect_bytes_per_s=giga(540), ici_links=6,
        ici_link_bytes_per_s=giga(90), host_link_bytes_per_s=giga(15),
        host_chips=4, host_nic_bytes_per_s=giga(25), price_usd_per_hour=4.2,
        price_source=_GOOGLE_2025, source=f"{_BOOK}; {_DOCS}v5p; {_TPU_INFO}",
        notes="sources differ on HBM: 2765, 2800 or 2460 GB/s",
    ),
    _tpu(
        "tpu-v6e", 2, 256, bf16_flops=tera(918), fp8_flops=tera(918),
        int8_ops=tera(1836), matrix_tile=256, hbm_bytes=giga(34.36),
        hbm_bytes_per_s=giga(1638), interconnect_bytes_per_s=giga(360),
        ici_links=4, ici_link_bytes_per_s=giga(90),
        host_link_bytes_per_s=giga(32), host_chips=8,
        host_nic_bytes_per_s=giga(25), price_usd_per_hour=2.7,
        price_source=_THIRD_PARTY, source=f"{_DOCS}tpu7x; {_BOOK}; {_TPU_INFO}",
        notes="HBM and ICI recalled from the vendor's pages",
    ),
    _tpu(
        "tpu-v7x", 3, 9216, bf16_flops=tera(2307), fp8_flops=tera(4614),
        matrix_tile=256, hbm_bytes=giga(206.2), hbm_bytes_per_s=giga(7380),
        host_chips=4, source=f"{_DOCS}tpu7x; {_TPU_INFO}",
        notes="HBM bandwidth recalled; links, host link and power unknown",
    ),
)
