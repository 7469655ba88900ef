"""What a client's file decides, and what it does not."""

import json

import numpy as np
import pytest

from pdjax.diagnose import tails
from pdjax.diagnose.outside import diagnose
from pdjax.foreign import (
  aiperf,
  aiperf_reader,
  guidellm,
  requestcsv,
  vllm_reader,
)
from pdjax.foreign.observed import Observed, Requests
from tests.diagnose import made
from tests.metrics.scripted import token_times_ns


def vllm_json(verdict: str) -> dict:
  """What vLLM's client would have written of a simulated run, with details.

  Its clocks start when a request is sent, so that is when it arrives.
  """
  _, log = made.logged(verdict)
  table, _ = made.served(verdict)
  times_ns = [times for _, times in sorted(token_times_ns(log).items())]
  start_s = table["arrival_ns"] / 1e9
  first_s = np.array([times[0] for times in times_ns]) / 1e9
  gaps_s = [np.diff(times) / 1e9 for times in times_ns]
  value = {
      "completed": len(table), "failed": 0, "duration": 1.0,
      "start_times": start_s.tolist(),
      "ttfts": (first_s - start_s).tolist(),
      "itls": [each.tolist() for each in gaps_s],
      "input_lens": table["prompt_tokens"].tolist(),
      "output_lens": table["output_tokens"].tolist(),
      "latencies": (table["e2el_ns"] / 1e9).tolist(),
  }
  pooled = {
      "ttft": 1e3 * np.array(value["ttfts"]),
      "tpot": np.array([1e3 * each.mean() for each in gaps_s]),
      "itl": 1e3 * np.concatenate(gaps_s),
      "e2el": 1e3 * np.array(value["latencies"]),
  }
  for metric, values in pooled.items():
    value[f"mean_{metric}_ms"] = float(values.mean())
    value[f"median_{metric}_ms"] = float(np.median(values))
    value[f"p99_{metric}_ms"] = float(np.percentile(values, 99))
  return json.loads(json.dumps(value))


def without_details(value: dict) -> dict:
  return {
      k: v for k, v in value.items() if not isinstance(v, list)
  } | {"completed": 1000}


def of_vllm(value: dict):
  assert vllm_reader.is_vllm(value)
  return diagnose(vllm_reader.read(value, "x.json"))


@pytest.mark.parametrize("verdict", ["prefill_queue", "interference"])
def test_a_vllm_json_with_details(verdict):
  found = of_vllm(vllm_json(verdict))
  assert found.verdict == verdict, found.lines()


@pytest.mark.parametrize("verdict", ["transfer", "decode_memory"])
def test_a_hand_off_shows_in_the_first_gap_and_its_cause_does_not(verdict):
  found = of_vllm(vllm_json(verdict))
  assert found.verdict == "cannot_tell", found.lines()
  if verdict == "transfer":
    assert "a client cannot see which" in found.evidence[-1]


def test_what_bounds_steps_a_client_cannot_see():
  found = of_vllm(vllm_json("decode_bandwidth"))
  assert found.verdict == "cannot_tell"
  assert "a client cannot see" in found.evidence[-1]


def test_a_vllm_summary_with_percentiles():
  steady = {"median_itl_ms": 10.0, "p99_itl_ms": 12.0}
  spiky = {"median_itl_ms": 10.0, "p99_itl_ms": 90.0}
  waits = {"median_ttft_ms": 100.0, "p99_ttft_ms": 900.0}
  prompt = {"median_ttft_ms": 100.0, "p99_ttft_ms": 140.0}
  for first, gaps, verdict in (
      (waits, steady, "prefill_queue"),
      (prompt, spiky, "interference"),
      (waits, spiky, "cannot_tell"),
      (prompt, steady, "cannot_tell"),
  ):
    found = of_vllm({"completed": 1000} | first | gaps)
    assert found.verdict == verdict, found.lines()


@pytest.mark.parametrize(
    ("first_ms", "verdict"), [(400.0, "cannot_tell"), (500.0, "prefill_queue")]
)
def test_a_tenth_of_the_time_is_needed_to_be_the_verdict(first_ms, verdict):
  found = of_vllm({
      "completed": 1000, "median_ttft_ms": 100.0, "p99_ttft_ms": 900.0,
      "median_itl_ms": 10.0, "p99_itl_ms": 12.0, "mean_ttft_ms": first_ms,
      "mean_e2el_ms": 5000.0,
  })
  assert found.verdict == verdict, found.lines()
  if verdict == "cannot_tell":
    assert "400 ms at most of 5000 ms, 8.0%: under 10%" in found.evidence[2]
    assert "gaps are steady" in found.evidence[3]
    assert not found.advice


def test_long_gaps_of_little_time_are_not_the_verdict():
  value = vllm_json("interference")
  assert of_vllm(value).verdict == "interference"
  longer = [1e3 * each for each in value["latencies"]]
  found = of_vllm(value | {
      "latencies": longer, "mean_e2el_ms": 1e6 * sum(longer) / len(longer)
  })
  assert found.verdict == "cannot_tell", found.lines()
  assert "loses in long gaps" in found.evidence[-1]


def test_a_vllm_summary_without_percentiles_decides_nothing():
  found = of_vllm({
      "completed": 1000, "mean_ttft_ms": 900.0, "mean_tpot_ms": 10.0,
      "mean_itl_ms": 10.0,
  })
  assert found.verdict == "cannot_tell"
  assert "means say nothing of tails" in found.evidence[0]


def test_a_p99_of_few_requests_decides_nothing():
  value = {
      "completed": 100, "median_ttft_ms": 100.0, "p99_ttft_ms": 900.0,
      "median_itl_ms": 10.0, "p99_itl_ms": 12.0,
  }
  assert of_vllm(value).verdict == "cannot_tell"
  assert of_vllm(value | {"completed": 300}).verdict == "prefill_queue"
  assert of_vllm(value | {"p90_ttft_ms": 500.0}).verdict == "prefill_queue"


def test_long_gaps_that_no_prompt_explains_are_not_blamed_on_prompts():
  """The gaps of an undisturbed run, some of them made long at random."""
  value = vllm_json("decode_bandwidth")
  draws = np.random.default_rng(0)
  for each in value["itls"]:
    each[draws.integers(20, 280)] += 0.5
    each[draws.integers(20, 280)] += 0.5
    each[draws.integers(20, 280)] += 0.5
  found = of_vllm(value)
  assert found.verdict == "cannot_tell", found.lines()
  assert "do not go with prompts" in found.evidence[-1]


def test_failed_requests_are_left_out_and_told():
  value = vllm_json("prefill_queue")
  value["output_lens"][3] = 0
  value["ttfts"][3] = 1e6
  value["failed"] = 1
  seen = vllm_reader.read(value, "x")
  assert seen.requests is not None and len(seen.requests.ttft_ms) == 59
  assert seen.requests.ttft_ms.max() < 1e8
  found = diagnose(seen)
  assert found.verdict == "prefill_queue"
  assert found.notes[0].startswith("1 requests failed")
  assert "room for KV" in found.notes[1]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"start_times": [1.0]}, "start_times: expected 60 numbers"),
        ({"itls": [[1.0]]}, "itls: expected 60 lists"),
        ({"input_lens": ["a"] * 60}, "input_lens: expected 60 numbers"),
    ],
)
def test_lists_that_do_not_fit_are_refused(change, line):
  with pytest.raises(ValueError, match=line):
    vllm_reader.read(vllm_json("prefill_queue") | change, "x")


# Other tools. -----------------------------------------------------------------


def test_aiperf_csv_and_json_say_the_same():
  rows = {
      "time_to_first_token": (100.0, 900.0),
      "inter_chunk_latency": (10.0, 12.0),
      "inter_token_latency": (10.0, 11.0),
      "request_latency": (600.0, 1400.0),
  }
  text = "Metric," + ",".join(aiperf.STATISTICS) + "\n"
  value: dict = {"request_count": {"unit": "requests", "avg": 1200.0}}
  for metric in aiperf.DISTRIBUTIONS:
    if metric.tag not in rows:
      continue
    median, high = rows[metric.tag]
    told = {"avg": median, "p50": median, "p90": median, "p99": high}
    value[metric.tag] = {"unit": metric.unit} | told
    cells = [str(told.get(name, "")) for name in aiperf.STATISTICS]
    text += f"{metric.heading},{','.join(cells)}\n"
  text += "\nMetric,Value\nRequest Count,1200.00\n"
  assert aiperf_reader.is_csv(text) and aiperf_reader.is_json(value)
  ours = aiperf_reader.read_csv(text, "x"), aiperf_reader.read_json(value, "x")
  assert ours[0].figures == ours[1].figures
  assert ours[0].completed == ours[1].completed == 1200
  assert ours[0].figures["p99_itl_ms"] == 12.0
  assert diagnose(ours[0]).verdict == "prefill_queue"


def guidellm_json(high_ttft: float, high_itl: float, late_s: float) -> dict:
  def told(median, high):
    return {"successful": {
        "mean": median, "median": median, "count": 500,
        "percentiles": {"p50": median, "p90": high * 0.8, "p99": high},
    }}

  return {
      "metadata": {"version": 1},
      "benchmarks": [{
          "metrics": {
              "request_totals": {"successful": 500, "errored": 2},
              "time_to_first_token_ms": told(100.0, high_ttft),
              "inter_token_latency_ms": told(10.0, high_itl),
              "request_latency": told(1.0, 3.0),
          },
          "scheduler_metrics": {"request_targeted_start_delay_avg": late_s},
          "requests": {"successful": []},
      }],
  }


@pytest.mark.parametrize(
    ("figures", "verdict"),
    [
        ((900.0, 11.0, 0.001), "prefill_queue"),
        ((150.0, 40.0, 0.001), "interference"),
        ((150.0, 11.0, 0.050), "generator"),
        ((150.0, 11.0, 0.001), "cannot_tell"),
    ],
)
def test_guidellm(figures, verdict):
  value = guidellm_json(*figures)
  assert guidellm.is_guidellm(value) and not vllm_reader.is_vllm(value)
  (seen,) = guidellm.read(value, "x")
  assert (seen.completed, seen.failed) == (500, 2)
  assert seen.figures["p50_e2el_ms"] == 1000.0
  assert diagnose(seen).verdict == verdict


def csv_of(verdict: str, late_s: float = 0.0, **left_out) -> str:
  table, _ = made.served(verdict)
  lines = ["arrival_s,sent_s,ttft_ms,e2el_ms,prompt_tokens,output_tokens"]
  for arrival, ttft, e2el, prompt, output in zip(
      table["arrival_ns"], table["ttft_ns"], table["e2el_ns"],
      table["prompt_tokens"], table["output_tokens"], strict=True,
  ):
    sent_s = arrival / 1e9 + late_s
    lines.append(
        f"{arrival / 1e9},{sent_s},{ttft / 1e6},{e2el / 1e6},{prompt},{output}"
    )
  return "\n".join(lines) + "\n"


def test_a_csv_of_request_times():
  found = diagnose(requestcsv.read(csv_of("prefill_queue"), "x.csv"))
  assert found.verdict == "prefill_queue", found.lines()
  found = diagnose(requestcsv.read(csv_of("prefill_queue", 0.5), "x.csv"))
  assert found.verdict == "generator", found.lines()


def test_a_csv_derives_what_it_lacks():
  text = "arrival_s,first_token_s,last_token_s,output_tokens\n"
  text += "1,1.5,2.5,11\n2,2.25,4.25,21\n3,,,0\n"
  seen = requestcsv.read(text, "x")
  assert seen.requests is not None
  assert seen.requests.ttft_ms.tolist() == [500.0, 250.0]
  assert seen.requests.tpot_ms == pytest.approx([100.0, 100.0])
  assert (seen.completed, seen.failed) == (2, 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n", "expected a column ttft_ms"),
        ("ttft_ms\n", "no rows"),
        ("ttft_ms\nfast\n", "line 2, column ttft_ms: 'fast' is no number"),
        ("ttft_ms,x\n,1\n", "no row has a time to first token"),
    ],
)
def test_a_csv_that_says_nothing_is_refused(text, line):
  with pytest.raises(ValueError, match=line):
    requestcsv.read(text, "x")


def test_a_queue_without_a_tail():
  """A queue that everyone stands in has no long tail: what its own prompts
  need, and its growth, show it."""
  ttft_ms = np.linspace(100, 60_000, 300)
  seen = Observed(
      source="x", completed=300,
      requests=Requests(
          ttft_ms=ttft_ms, start_s=np.arange(300.0),
          tpot_ms=np.full(300, 30.0), e2el_ms=ttft_ms + 3000,
          prompt_tokens=np.full(300, 1000.0),
      ),
  )
  tail = tails.tail(seen, "ttft")
  assert tail is not None and tail.ratio < 2.5
  found = diagnose(seen)
  assert found.verdict == "prefill_queue", found.lines()
