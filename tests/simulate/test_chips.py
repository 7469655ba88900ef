"""Chips: every published figure, and what happens without one."""

import dataclasses
import json

import pytest

from pdjax.config import ConfigError
from pdjax.simulate.chip import Chip
from pdjax.simulate.chips import CHIPS, chip, problems
from pdjax.simulate.chips import FIGURES as OWN_FIGURES

FIGURES = {
    "bf16_dense_flops": "bf16_flops",
    "fp8_dense_flops": "fp8_flops",
    "fp4_dense_flops": "fp4_flops",
    "int8_dense_ops": "int8_ops",
    "hbm_bytes": "hbm_bytes",
    "hbm_bytes_per_s": "hbm_bytes_per_s",
    "interconnect_bytes_per_s_per_dir": "interconnect_bytes_per_s",
    "ici_links_per_chip": "ici_links",
    "ici_bytes_per_s_per_link_per_dir": "ici_link_bytes_per_s",
    "host_link_bytes_per_s_per_dir": "host_link_bytes_per_s",
    "scaleout_nic_bytes_per_s_per_dir_typical": "nic_bytes_per_s",
    "dcn_bytes_per_s_per_host": "host_nic_bytes_per_s",
    "tdp_w": "tdp_w",
    "price_usd_per_hour": "price_usd_per_hour",
    "pod_chips": "pod_chips",
    "vendor": "vendor",
}


@pytest.mark.data
def test_figures_are_those_of_the_spec_sheets(data_dir):
  sheets = json.loads((data_dir / "specs/hardware_specs.json").read_text())
  assert set(sheets) <= set(CHIPS)
  for name, sheet in sheets.items():
    ours = CHIPS[name]
    for theirs, field in FIGURES.items():
      assert getattr(ours, field) == sheet.get(theirs), f"{name}.{field}"
    ridge = sheet["ridge_bf16_flop_per_byte"]
    assert ours.ridge_flop_per_byte == pytest.approx(ridge, abs=0.06), name


def test_every_chip_says_where_its_figures_come_from():
  for name, known in CHIPS.items():
    assert known.name == name
    assert known.source
    assert bool(known.price_source) == (known.price_usd_per_hour is not None)


def test_ridge_of_an_a100_is_153_flop_per_byte():
  a100 = CHIPS["a100-80gb-sxm"]
  assert a100.bf16_flops == 312e12
  assert a100.hbm_bytes_per_s == 2039e9
  assert round(a100.ridge_flop_per_byte) == 153


def test_dense_peaks_only():
  """fp8 is twice bf16 where there is a gain; sparse figures would be more."""
  for known in CHIPS.values():
    if known.fp8_flops and known.bf16_flops:
      assert 1 <= known.fp8_flops / known.bf16_flops <= 2.03, known.name


def test_unknown_chip_gets_a_hint():
  with pytest.raises(ConfigError, match="did you mean 'h100-sxm'") as caught:
    chip("H100")
  assert len(caught.value.errors) == 1


def test_missing_figure_is_named():
  with pytest.raises(
      ConfigError, match="no source states host_link_bytes_per_s .*tpu-v7x"
  ):
    assert CHIPS["tpu-v7x"].peer_bytes_per_s
  with pytest.raises(ConfigError, match="float32_flops"):
    CHIPS["h100-sxm"].flops("float32")


def test_peers_without_an_interconnect_talk_over_the_host_link():
  assert CHIPS["l40s"].peer_bytes_per_s == 32e9
  assert CHIPS["h100-sxm"].peer_bytes_per_s == 450e9


def test_a_chip_of_ones_own():
  mine = Chip(name="mine", vendor="me", float32_flops=10, hbm_bytes_per_s=5)
  assert mine.flops("float32") == 10


def test_a_chip_described_in_a_config():
  own = {"mine": {"like": "h100-sxm", "hbm_bytes_per_s": 6e12}}
  mine = chip("mine", own)
  assert (mine.name, mine.hbm_bytes_per_s) == ("mine", 6 * 10**12)
  assert mine.bf16_flops == CHIPS["h100-sxm"].bf16_flops
  assert mine.source_of("hbm_bytes_per_s") == "the config"
  assert mine.source_of("bf16_flops") == CHIPS["h100-sxm"].source
  bare = chip("bare", {"bare": {"bf16_flops": 1e14}})
  with pytest.raises(ConfigError, match="cluster.chips.bare.hbm_bytes: needed"):
    bare.figure("hbm_bytes")


def test_mistakes_in_ones_own_chips_a_line_each():
  lines = problems({
      "a": {"like": "h100", "hbm_byte": 1, "bf16_flops": -1},
      "b": {"tdp_w": "much", "notes": 3},
      "h100-sxm": {"bf16_flops": 1e15},
  })
  assert [line.split(":")[0] for line in lines] == [
      "cluster.chips.a.like", "cluster.chips.a.hbm_byte",
      "cluster.chips.a.bf16_flops", "cluster.chips.b.tdp_w",
      "cluster.chips.b.notes", "cluster.chips.h100-sxm",
  ]
  assert "did you mean 'h100-sxm'" in lines[0]
  assert "did you mean 'hbm_bytes'" in lines[1]


@pytest.mark.parametrize(
    ("field", "wrong", "allowed"),
    [
        ("torus_axes", 1, "must be 0, 2 or 3"),
        ("torus_axes", 4, "must be 0, 2 or 3"),
        ("compute_units", 1e21, "must be a number from 1 to 1e+06"),
        ("domain_chips", 1e7, "must be a number from 1 to 1e+06"),
    ],
)
def test_what_no_chip_has_is_told(field, wrong, allowed):
  (line,) = problems({"mine": {"like": "tpu-v5p", field: wrong}})
  assert line.startswith(f"cluster.chips.mine.{field}: {allowed}, got")


@pytest.mark.parametrize("like", CHIPS)
def test_every_chip_could_be_described_in_a_config(like):
  figures = {
      field.name: value for field in dataclasses.fields(CHIPS[like])
      if field.name in OWN_FIGURES
      and (value := getattr(CHIPS[like], field.name)) is not None
  }
  assert problems({"mine": figures}) == []


def test_network_share_of_a_chip():
  assert CHIPS["h100-sxm"].network_bytes_per_s == 50e9
  assert CHIPS["tpu-v5p"].network_bytes_per_s == 25e9 // 4
