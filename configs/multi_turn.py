"""How many bytes does a hand-off save where D keeps the conversation?

Command:  python -m pdjax.experiment --config=multi_turn
Minutes:  under 2 on 2 cores, most of it compiling
Expected: Conversations of five turns, each prompt with all that was said before
          in it. With a prefix cache on both workers a hand-off moves only what
          D lacks, a fraction of the bytes, and P computes the new tokens and
          the answers, which only D has; without one every turn is computed and
          moved from its first word. The table `Prefixes found again` has both
          figures. Where the caches are too small for all conversations
          (`host_memory`, simulated), what they evict comes back from host
          memory. Measured, the tokens are checked against a plain forward pass
          in either case.
"""

from ml_collections import ConfigDict

CASES = (
    {"name": "1P1D no cache", "strategy.prefix_cache": False},
    {"name": "1P1D prefix cache", "strategy.prefix_cache": True},
)
TURNS = {"kind": "fixed", "mean": 5}


def simulated(cases=CASES, **cluster) -> ConfigDict:
  """Llama-3.1-8B on two H100, joined by a network of 25 GB/s."""
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-8b"},
      "cluster": {
          "split": "1P1D",
          "chip": "h100-sxm",
          "link": {"bandwidth_bytes_per_s": 25e9},
          **cluster,
      },
      "strategy": {"kind": "disaggregated"},
      "workload": {
          "num_requests": 1000,
          "rate": 5.0,
          "turns": TURNS,
          "think_time_s": 5.0,
          "prompt": {"kind": "lognormal", "mean": 400, "high": 4000},
          "output": {"kind": "lognormal", "mean": 200, "cv": 0.8, "high": 1000},
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.03},
      "sweep": {"cases": cases},
  })


def host_memory() -> ConfigDict:
  """The same requests where a worker's cache holds a few conversations."""
  small, host = dict(CASES[1]), dict(CASES[1])
  small["name"], host["name"] = "small caches", "and host memory"
  host["cluster.host_kv_tokens"] = 1_000_000
  return simulated((small, host), kv_tokens=24_000)


def measured() -> ConfigDict:
  """A small Llama, random weights, on two virtual devices of the host."""
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {"preset": "small", "dtype": "float32"},
      "cluster": {"split": "1P1D", "host_devices": 2, "kv_tokens": 16384},
      "engine": {"max_programs": 8, "verify_tokens": 15},
      "strategy": {"kind": "disaggregated", "max_num_seqs": 8},
      "workload": {
          "num_requests": 40,
          "rate": 6.0,
          "turns": TURNS,
          "think_time_s": 0.2,
          "prompt": {"kind": "empirical", "values": (32, 64, 128)},
          "output": {"kind": "fixed", "mean": 24},
      },
      "slo": {"ttft_s": 0.5, "tpot_s": 0.05},
      "sweep": {"cases": CASES},
  })


def get_config() -> ConfigDict:
  return ConfigDict({
      "blocks": {
          "simulated": simulated(),
          "host_memory": host_memory(),
          "measured": measured(),
      },
  })
