"""Names of other tools, as their files have them."""

from pdjax.foreign import aiperf, vllm
from pdjax.metrics.summary import LATENCIES


def test_vllm_keys_are_those_of_our_summary():
  assert set(vllm.METRICS) <= set(LATENCIES)
  assert vllm.statistic("mean", "tpot") == "mean_tpot_ms"


def test_aiperf_headings_carry_their_unit():
  metrics = (*aiperf.DISTRIBUTIONS, *aiperf.SINGLES)
  headings = {metric.tag: metric.heading for metric in metrics}
  assert headings["time_to_first_token"] == "Time to First Token (ms)"
  assert headings["request_count"] == "Request Count"
  assert headings["goodput"] == "Goodput (requests/sec)"


def test_aiperf_lists_metrics_as_it_sorts_them():
  for table in (aiperf.DISTRIBUTIONS, aiperf.SINGLES):
    tags = [metric.tag for metric in table]
    assert tags == sorted(tags)
