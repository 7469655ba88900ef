"""From a config to a simulated cluster; and what a user gets wrong."""

import dataclasses
import subprocess
import sys

import pytest

from pdjax import config
from pdjax.config import ConfigError, Pool
from pdjax.simulate.cluster import cluster_of
from pdjax.simulate.scalars import Scalars
from tests.simulate.serving import make_run


def pools(*made, **more):
  return make_run(cluster={"pools": made, **more})


def test_workers_alike_share_a_cost_model():
  cluster = cluster_of(make_run("disaggregated", "2P2D"))
  assert len(cluster.costs) == len(cluster.links) == 4
  assert len(set(cluster.costs)) == len(cluster.provenance) == 1


def test_pools_differ_as_they_say():
  cluster = cluster_of(pools(
      Pool(role="P", count=1, tp=2, chip="h100-sxm"),
      Pool(role="D", count=2, tp=4, pp=2),
  ))
  assert [c.chip.name for c in cluster.costs] == [
      "h100-sxm", "a100-80gb-sxm", "a100-80gb-sxm"
  ]
  layouts = [str(c.layout) for c in cluster.costs]
  assert layouts == ["tp 2", "tp 4, pp 2", "tp 4, pp 2"]
  bandwidths = [link.bandwidth_bytes_per_s for link in cluster.links]
  # Unlike chips, or more than eight: every chip through its network card.
  reached = Scalars().network_efficiency
  assert bandwidths == [2 * 50e9 * reached, *(2 * [8 * 25e9 * reached])]
  assert cluster.pool_pages[1] > 4 * cluster.pool_pages[0]


def test_a_named_link_wins():
  link = config.Link(bandwidth_bytes_per_s=25e9, latency_s=1e-3)
  (made,) = cluster_of(make_run(cluster={"link": link})).links
  assert (made.bandwidth_bytes_per_s, made.latency_ps) == (25 * 10**9, 10**9)


def test_pages_come_from_memory_or_from_the_config():
  # (72 GB - 16.06 GB weights - activations) / 131,072 bytes a token: ~420k.
  (pages,) = cluster_of(make_run()).pool_pages
  assert 400_000 < pages * 16 < 427_000
  run = make_run(cluster={"kv_tokens": 1000})
  assert cluster_of(run).pool_pages == (62,)


def test_what_takes_memory_leaves_fewer_pages():
  base = cluster_of(make_run()).pool_pages[0]
  for run in (
      make_run(cluster={"hbm_utilization": 0.8}),
      make_run(strategy={"max_num_batched_tokens": 32768}),
      make_run(strategy={"max_num_seqs": 1024}),
  ):
    assert cluster_of(run).pool_pages[0] < base
  chunked = make_run("chunked", strategy={"chunk_size": 512})
  assert cluster_of(chunked).pool_pages[0] > base


def refused(run):
  with pytest.raises(ConfigError) as caught:
    cluster_of(run)
  return caught.value.errors


def test_what_the_config_says_of_kv_has_to_fit_too():
  small = {"chip": "a100-40gb-sxm"}
  (line,) = refused(
      make_run(model="llama-3-70b", cluster={**small, "kv_tokens": 100_000})
  )
  assert "each chip needs 143.0 GB" in line and "has 36.0 GB" in line
  split = {**small, "tp": 8}
  (most,) = cluster_of(make_run(model="llama-3-70b", cluster=split)).pool_pages
  said = {**split, "kv_tokens": 16 * most}
  assert cluster_of(
      make_run(model="llama-3-70b", cluster=said)
  ).pool_pages == (most,)
  (line,) = refused(make_run(
      model="llama-3-70b", cluster={**split, "kv_tokens": 16 * (most + 1)}
  ))
  assert line.startswith("cluster.kv_tokens: each chip needs 36.0 GB (weights")
  assert f"at most {16 * most} tokens fit pool C (tp 8)" in line


def test_kv_that_one_pool_asks_for_is_named_by_its_place():
  (line,) = refused(pools(
      Pool(role="P", count=1), Pool(role="D", count=1, kv_tokens=10**8)
  ))
  assert line.startswith("cluster.pools[1].kv_tokens: each chip needs")


def test_kv_that_an_engine_had_is_taken_at_its_word():
  run = make_run(cluster={"chip": "rtx-4090", "kv_tokens": 41408})
  assert "at most" in refused(run)[0]
  assert cluster_of(run, engines_kv=True).pool_pages == (41408 // 16,)


@pytest.mark.parametrize("said, links", [
    ({"tdp_w": 300}, "host_link_bytes_per_s"),
    ({"torus_axes": 3}, "ici_link_bytes_per_s"),
    ({"host_chips": 2}, "nic_bytes_per_s"),
])
def test_all_figures_that_a_chip_lacks_at_once(said, links):
  lines = refused(make_run(
      "disaggregated", "1P1D",
      cluster={"chip": "mine", "chips": {"mine": said}, "tp": 2},
  ))
  told = {line.partition(":")[0] for line in lines}
  wanted = {"bf16_flops", "hbm_bytes_per_s", "hbm_bytes", links}
  assert wanted <= {name.removeprefix("cluster.chips.mine.") for name in told}


def test_lacking_figures_are_told_beside_a_model_that_does_not_fit():
  small = {"mine": {"hbm_bytes": 1e9}}
  *lacking, fit = refused(make_run(cluster={"chip": "mine", "chips": small}))
  assert len(lacking) == 2 and "each chip needs" in fit


def test_a_format_that_a_chip_is_known_not_to_multiply():
  fp8 = config.Model(product_dtype="fp8")
  (line,) = refused(dataclasses.replace(make_run(), model=fp8))
  assert line.startswith("model.product_dtype: chip 'a100-80gb-sxm' multiplies")
  own = {"like": "a100-80gb-sxm", "fp8_flops": 6e14}
  run = make_run(cluster={"chip": "mine", "chips": {"mine": own}})
  assert cluster_of(dataclasses.replace(run, model=fp8))


def test_all_mistakes_at_once_each_one_line():
  with pytest.raises(ConfigError) as caught:
    cluster_of(pools(
        Pool(role="P", count=1, chip="h1000"),
        Pool(role="D", count=3, tp=3),
        Pool(role="C", count=1, chip="l4", tp=1, pp=1),
        Pool(role="C", count=2, chip="tpu-v7x", tp=1),
        chips={"bare": {"bf16_flops": 1e15}},
        hbm_utilization=0.5,
    ))
  h1000, tp, fit, link = caught.value.errors
  assert "unknown chip 'h1000'" in h1000
  assert "tp 3 does not divide" in tp
  assert "pool C (tp 1): each chip needs" in fit
  assert "nic_bytes_per_s of chip 'tpu-v7x'" in link
  assert "say cluster.link.bandwidth_bytes_per_s" in link


def test_no_chip_and_no_such_precision():
  with pytest.raises(ConfigError, match="say which chip"):
    cluster_of(make_run(cluster={"chip": None}))
  run = dataclasses.replace(make_run(), model=config.Model(dtype="float32"))
  with pytest.raises(ConfigError, match="float32_flops of chip 'a100"):
    cluster_of(run)


def test_no_group_has_more_layers_than_the_model():
  def run_of(layers):
    plan = config.TransferPlan(granularity="layers", layers=layers)
    return make_run(
        "disaggregated", "1P1D", strategy={"transfer": plan}
    )

  spec = cluster_of(run_of(1)).costs[0].spec
  assert cluster_of(run_of(spec.num_layers))
  with pytest.raises(ConfigError, match="layers: 33 is more than the 32 lay"):
    cluster_of(run_of(33))


def test_simulating_imports_no_jax():
  code = "import sys, pdjax.simulate.cluster; sys.exit('jax' in sys.modules)"
  subprocess.run([sys.executable, "-c", code], timeout=60, check=True)


def test_power_and_price_of_all_chips_or_unknown():
  both = cluster_of(make_run(cluster={"split": "2C", "tp": 2}))
  assert both.total("tdp_w") == 4 * 400
  assert both.total("price_usd_per_hour") == pytest.approx(4 * 2.21)
  mixed = cluster_of(pools(
      Pool(role="P", count=1), Pool(role="D", count=1, chip="h200-sxm")
  ))
  assert mixed.total("price_usd_per_hour") is None


def test_asynchronous_scheduling_hides_the_hosts_work():
  """Of vLLM V1 alone; what another engine hides its calibration knows."""
  for kind, ahead, hidden in (
      ("vllm_v1", 1, 1.0), ("vllm_v1", 0, 0.0), ("chunked", 1, 0.0)
  ):
    run = make_run()
    run = dataclasses.replace(
        run,
        strategy=dataclasses.replace(run.strategy, kind=kind, chunk_size=512),
        engine=dataclasses.replace(run.engine, dispatch_ahead=ahead),
    )
    assert cluster_of(run).costs[0].scalars.host_overlap == hidden


@pytest.mark.parametrize(
    "chip, degrees, figure",
    [("tpu-v7x", {"tp": 2}, "ici_link_bytes_per_s"),
     ("tpu-v7x", {"pp": 2}, "ici_link_bytes_per_s"),
     ("rtx-4090", {"tp": 16}, "nic_bytes_per_s")],
)
def test_links_that_a_layout_needs_are_asked_for_at_once(
    chip, degrees, figure
):
  run = make_run(cluster={"chip": chip, "kv_tokens": 4096, **degrees})
  with pytest.raises(ConfigError, match=f"no source states {figure}") as caught:
    cluster_of(run)
  own = f"cluster.chips={{'mine': {{'like': '{chip}', '{figure}': ...}}}}"
  assert own in str(caught.value)
