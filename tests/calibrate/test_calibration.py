"""A calibration: fitted, held out, written, read, and pricing steps."""

import dataclasses
import json

import numpy as np
import pytest

from pdjax.calibrate import surveyed
from pdjax.calibrate.calibration import calibration
from pdjax.calibrate.observe import StepSeen, TransferSeen
from pdjax.calibrate.survey import light, survey
from pdjax.calibrate.surveyed import Surveyed, together
from pdjax.config import Backend, ConfigError, Lengths, Workload
from pdjax.dtypes import Dtypes
from pdjax.layout import Layout
from pdjax.models.presets import preset
from pdjax.schedule.cost import StepShape
from pdjax.simulate.chips import chip
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.costs import AnalyticalCost
from pdjax.simulate.fittedcost import COPIES, PRICES
from pdjax.simulate.links import Link
from pdjax.simulate.profiles import calibrated, files
from pdjax.workload.build import build
from tests.calibrate.test_fit import LINK, TRUE, Padding, shapes
from tests.simulate.serving import make_run

MADE_BY = {"device": "cpu", "chips": 2, "dtype": "float32", "notes": []}


def made(noise=0.05, **changed):
  """A calibration of steps of known prices, some per cent of noise on them."""
  draw = np.random.default_rng(1)
  steps = [
      StepSeen(s, round(TRUE.step(s)[0].first_ps * draw.normal(1, noise)))
      for s in shapes()
  ]
  moves = [
      TransferSeen(size, 2 * size, LINK.transfer_ps(size), 2 * size)
      for size in (10_000, 50_000, 200_000)
  ]
  return calibration(
      steps, moves, kv_bytes_per_token=1000, padding=Padding((4, 32), (512,)),
      **{"model": "tiny", "tp": 1, "made_by": MADE_BY, **changed},
  )


def test_errors_are_those_of_steps_left_out():
  found = made()
  kinds = {error["kind"]: error for error in found["errors"]}
  assert {*kinds} == {"prefill", "decode", "mixed", "all"}
  assert kinds["all"]["steps"] == found["steps_held_out"] == 200
  assert made(noise=0.3)["errors"][-1]["median"] > kinds["all"]["median"]


def test_more_noise_is_more_spread():
  quiet, loud = (made(noise)["spread"]["fixed_ps"] for noise in (0.02, 0.3))
  assert quiet < loud


@pytest.fixture(name="file")
def _file(tmp_path):
  path = tmp_path / "mine.json"
  path.write_text(json.dumps(made()))
  return path


def test_a_file_prices_what_was_fitted(file):
  found = calibrated.read(json.loads(file.read_text()))
  assert found.cost.padding == Padding((4, 32), (512,))
  assert found.link.bandwidth_bytes_per_s == pytest.approx(10**9, rel=1e-3)
  shape = StepShape((), 4, 400)
  assert found.provenance_of(shape) == "measured"
  assert found.provenance_of(StepShape((), 400, 400)) == "extrapolated"


def analytical(name="tiny", dtype="float32", **layout):
  return AnalyticalCost(
      preset(name), chip("a100-80gb-sxm"), dtypes=Dtypes.all(dtype),
      layout=Layout(**layout),
  )


def test_the_simulator_takes_a_file_and_says_so(file):
  cost = files.profiled(str(file), analytical())
  shape = StepShape(((600, 5000),), 3, 300)
  known = files.calibration(str(file)).cost
  assert cost.step(shape) == known.step(shape)
  assert cost.gather_ps(1000) == known.gather_ps(1000) == 2000
  assert cost.transfer_bytes(7) == 7000
  assert cost.provenance["kind"] == "calibrated"
  assert "steps left out" in cost.provenance["accuracy"]
  assert cost.provenance["steps_extrapolated"] == 1
  rises = cost.provenance["rise_beside_a_busy_neighbour_ps"]
  assert not any(ps for each in rises.values() for ps in each.values())


def test_a_file_of_another_model_or_format_is_refused(file, tmp_path):
  for other, told in (
      (analytical("small"), "tiny tp 1, not of small tp 1"),
      (analytical(tp=2), "tiny tp 1, not of tiny tp 2"),
      (analytical(dtype="bfloat16"), "tiny float32, not of tiny bfloat16"),
  ):
    with pytest.raises(ConfigError, match=f"it is of {told}"):
      files.profiled(str(file), other)
  newer = tmp_path / "newer.json"
  newer.write_text(json.dumps(made() | {calibrated.VERSION_KEY: 9}))
  with pytest.raises(ConfigError, match="calibration format 9"):
    files.calibration(str(newer))
  newer.write_text(json.dumps(made() | {"range": {}}))
  with pytest.raises(ConfigError, match="a damaged calibration: KeyError"):
    files.calibration(str(newer))


@pytest.mark.parametrize(
    "where, value, told",
    [
        ("prices.fixed_ps", -1, "fixed_ps: expected a number from 0, got -1"),
        ("prices.decode_ps", float("inf"), "decode_ps: expected a number"),
        ("copies.copy_ps_per_byte", float("nan"), "byte: expected a number"),
        ("copies.copy_ps_per_byte", True, "copy_ps_per_byte: expected"),
        ("kv_bytes_per_token", 0, "kv_bytes_per_token: expected a number fro"),
        ("link.latency_s", "1", "latency_s: expected a number from 0, got '1"),
        ("link.bandwidth_bytes_per_s", 0, "expected a number from 1, got 0"),
        ("range.sequences", 2.5, "sequences: expected a whole number"),
        ("padding.sequences", [4, 2], "sequences: expected ascending sizes"),
        ("padding.prompt_tokens", {}, "prompt_tokens: expected a list"),
        ("sharing", {"prompt": {}}, "sharing: expected prompts and decodes"),
        ("sharing", [1], "sharing: expected prompts and decodes"),
        ("sharing.decodes", {"fixed_ps": -1}, "fixed_ps: expected a number"),
        ("sharing.decodes", {"fixed_ps": 1}, "begin_ps"),
        ("accuracy", {}, "accuracy: expected text"),
        ("model", None, "model: expected text"),
        ("tp", 10**30, "tp: expected a number from 1"),
    ],
)
def test_a_damaged_file_is_refused_in_one_line(
    tmp_path, where, value, told
):
  tree = json.loads(json.dumps(made()))
  *outer, last = where.split(".")
  inner = tree
  for name in outer:
    inner = inner[name]
  inner[last] = value
  path = tmp_path / "damaged.json"
  path.write_text(json.dumps(tree))
  with pytest.raises(ConfigError, match=told) as refused:
    files.calibration(str(path))
  assert len(refused.value.errors) == 1


def test_a_calibrated_chip_is_the_device_that_was_measured(file):
  """Of the chip that a config names it has the memory, and nothing else."""
  cluster = cluster_of(float32_run(str(file)))
  (on,) = {cost.chip for cost in cluster.costs}
  named = chip("h100-sxm")
  assert (on.name, on.hbm_bytes) == ("cpu", named.hbm_bytes)
  assert cluster.measured_on == "cpu" and cluster.total("tdp_w") is None
  kind = "NVIDIA H100 80GB HBM3"
  file.write_text(json.dumps(made(made_by=MADE_BY | {"device": kind})))
  cluster = cluster_of(float32_run(str(file)))
  assert cluster.measured_on == kind
  assert cluster.total("tdp_w") == named.tdp_w


def test_prices_and_rises_are_drawn_within_the_error_of_steps_left_out(file):
  tree = made()
  tree["sharing"] = {"decodes": dict.fromkeys(PRICES, 10**6)}
  file.write_text(json.dumps(tree))
  off = tree["errors"][-1]["median"]
  run = float32_run(str(file))

  def fitted(draw):
    backend = dataclasses.replace(run.backend, draw=draw)
    cluster = cluster_of(dataclasses.replace(run, backend=backend))
    assert ("draw" in cluster.profile) == bool(draw)
    return cluster.costs[0].fitted

  plain, one, again, other = map(fitted, (0, 1, 1, 2))
  assert one == again != other and plain == calibrated.read(tree).cost
  pairs = [
      (getattr(one, name), getattr(plain, name)) for name in (*PRICES, *COPIES)
  ]
  pairs += zip(one.sharing.decodes, plain.sharing.decodes, strict=True)
  moved = [drawn / price for drawn, price in pairs if price > 1000]
  assert len(moved) >= 12 and len(set(moved)) == len(moved)
  assert all(1 - off - 1e-3 <= factor <= 1 + off + 1e-3 for factor in moved)
  assert all(type(getattr(one, name)) is int for name in PRICES)
  assert all(drawn == 0 for drawn, price in pairs if not price)
  assert one.sharing.prompts == () == plain.sharing.prompts


def test_what_says_no_error_cannot_be_drawn(file):
  run = float32_run(str(file))
  drawn = dataclasses.replace(
      run, backend=dataclasses.replace(run.backend, draw=1)
  )
  tree = made()
  del tree["errors"]
  file.write_text(json.dumps(tree))
  assert cluster_of(run).costs
  with pytest.raises(ConfigError, match="backend.draw: .*no errors of steps"):
    cluster_of(drawn)
  file.write_text(json.dumps(made() | {"errors": [{"kind": "all"}]}))
  with pytest.raises(ConfigError, match="a damaged calibration: KeyError"):
    cluster_of(run)


def test_calibrated_workers_are_joined_as_they_were_measured(file):
  run = float32_run(str(file))
  assert {*cluster_of(run).links} == {calibrated.read(made()).link}
  link = dataclasses.replace(run.cluster.link, bandwidth_bytes_per_s=7e9)
  said = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, link=link)
  )
  assert {*cluster_of(said).links} == {Link(7 * 10**9, 20_000_000)}
  file.write_text(json.dumps(made() | {"link": None}))
  assert calibrated.read(json.loads(file.read_text())).link is None
  assert cluster_of(run).links  # nothing moves


def test_pages_that_move_need_a_link_where_none_was_measured(file):
  file.write_text(json.dumps(made() | {"link": None}))
  run = float32_run(str(file))
  run = dataclasses.replace(
      run, strategy=dataclasses.replace(run.strategy, kind="disaggregated"),
      cluster=dataclasses.replace(run.cluster, split="1P1D"),
  )
  with pytest.raises(ConfigError, match="link.bandwidth_bytes_per_s: say it"):
    cluster_of(run)


@pytest.mark.parametrize("device, fits", [
    ("cpu", True), ("NVIDIA H100 80GB HBM3", False),
])
def test_kv_tokens_have_to_fit_where_the_chip_is_the_device(
    file, device, fits
):
  file.write_text(json.dumps(made(made_by=MADE_BY | {"device": device})))
  run = float32_run(str(file))
  tokens = 10**9
  run = dataclasses.replace(
      run, cluster=dataclasses.replace(run.cluster, kv_tokens=tokens)
  )
  if fits:
    assert cluster_of(run).pool_pages == (tokens // 16,)
  else:
    with pytest.raises(ConfigError, match="cluster.kv_tokens: each chip needs"):
      cluster_of(run)


def test_a_calibration_needs_no_figure_of_the_chip_but_its_memory(file):
  with pytest.raises(ConfigError, match="float32_flops of chip 'h100"):
    cluster_of(float32_run("analytical"))
  cluster = cluster_of(float32_run(str(file)))
  known = files.calibration(str(file)).cost
  shape = StepShape(((30, 50),), 3, 300)
  assert cluster.costs[0].step(shape) == known.step(shape)


def float32_run(costs):
  run = make_run(
      "continuous", cluster={"chip": "h100-sxm", "kv_tokens": 4096},
      model="tiny", backend=Backend(costs=costs),
  )
  model = dataclasses.replace(run.model, dtype="float32")
  return dataclasses.replace(run, model=model)


def test_a_survey_visits_batches_and_stays_within_the_lengths():
  load = build(
      Workload(
          num_requests=4, rate=1.0,
          prompt=Lengths(kind="empirical", values=(16, 300)),
          output=Lengths(mean=20),
      )
  )
  found = [*survey(load, 8)]
  assert [name for name, _ in found] == [f"{n} users" for n in (1, 2, 4, 8)]
  assert [name for name, _ in survey(load, 6)][-1] == "6 users"
  again = [each for _, each in survey(load, 8, 1)]
  assert again[0].output_tokens != found[0][1].output_tokens  # another round
  longest = max(r.prompt_tokens for r in load.requests)
  for _, each in found:
    assert max(r.prompt_tokens for r in each.requests) <= longest
    assert max(each.output_tokens) <= 20
  assert len({r.prompt_tokens for r in found[0][1].requests}) > 3


def test_a_light_load_leaves_pauses():
  load = build(Workload(num_requests=4, rate=1.0))
  calm = light(load, request_s=0.2)
  first, *_, last = sorted(r.arrival_ps for r in calm.requests)
  between_s = (last - first) / (len(calm.requests) - 1) / 1e12
  assert 0.3 < between_s < 1.5  # 0.67 in the mean


def test_engines_are_fitted_together(tmp_path):
  quick, slow = (
      Surveyed(
          steps=[
              StepSeen(s, factor * TRUE.step(s)[0].first_ps) for s in shapes()
          ],
          transfers=[], padding=Padding(), shared=False,
          kv_bytes_per_token=1000, model="tiny", tp=1,
          made_by=MADE_BY | {"notes": [f"{factor}"]},
      )
      for factor in (1, 2)
  )
  slow.write(tmp_path)
  assert surveyed.read(tmp_path) == slow
  assert surveyed.read(tmp_path / "none") is None
  alone, both = (
      together(each, ["a", "b"][: len(each)])
      for each in ([quick], [quick, slow])
  )
  assert both["made_by"]["engines"] == ["a", "b"]
  assert both["made_by"]["notes"] == ["1", "2"]
  assert both["prices"]["fixed_ps"] > 1.2 * alone["prices"]["fixed_ps"]
