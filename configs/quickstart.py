"""How do three strategies treat the same requests, simulated and measured?

Command:  python -m pdjax.experiment --config=quickstart
Minutes:  under 3 on 2 cores, most of it compiling and serving
Expected: Simulated, 20 requests a second: continuous batching misses the limit
          on the time per token for more than half of its requests, because
          prompts stall running answers; chunked prefill and disaggregation
          meet both limits, the one with the shorter wait for the first token,
          the other with the steadier gaps after it. Measured, long prompts
          among short ones on devices that share the cores of one machine: the
          tokens are the same, and the differences between strategies are
          about as large as those of a repeated run, which is shown beside.
"""

from ml_collections import ConfigDict

STRATEGIES = (
    {
        "name": "4C continuous",
        "cluster.split": "4C",
        "strategy.kind": "continuous",
    },
    {
        "name": "4C chunked",
        "cluster.split": "4C",
        "strategy.kind": "chunked",
    },
    {
        "name": "2P2D",
        "cluster.split": "2P2D",
        "strategy.kind": "disaggregated",
    },
)


def simulated() -> ConfigDict:
  """Llama-3.1-70B on 16 H100, tensor parallel over 4, a synthetic chat load."""
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-70b"},
      "cluster": {"tp": 4, "chip": "h100-sxm"},
      "workload": {
          "kind": "synthetic",
          "num_requests": 600,
          "rate": 20.0,
          "prompt": {"kind": "lognormal", "mean": 1200, "high": 8000},
          "output": {"kind": "lognormal", "mean": 210, "cv": 0.8, "high": 2000},
      },
      "slo": {"ttft_s": 2.0, "tpot_s": 0.04},
      "sweep": {"cases": STRATEGIES},
  })


def measured() -> ConfigDict:
  """A small Llama, random weights, on four virtual devices of the host."""
  again = dict(STRATEGIES[0], name="4C again", repeat=1)
  chunked = dict(STRATEGIES[1], **{"strategy.chunk_size": 128})
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {"preset": "small", "dtype": "float32"},
      "cluster": {"host_devices": 4, "kv_tokens": 16384},
      "engine": {"max_programs": 8, "verify_tokens": 4},
      "strategy": {"max_num_seqs": 8},
      "workload": {
          "kind": "synthetic",
          "num_requests": 50,
          "rate": 7.0,
          "prompt": {
              "kind": "empirical",
              "values": (24, 32, 40, 48, 64, 96, 128, 1024, 1536, 2048),
          },
          "output": {"kind": "fixed", "mean": 40},
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
      "sweep": {"cases": (STRATEGIES[0], again, chunked, STRATEGIES[2])},
  })


def get_config() -> ConfigDict:
  return ConfigDict({
      "blocks": {
          "simulated": simulated(),
          "measured": measured(),
          "same_scheduler": {
              "reads": "measured",
              "then": "pdjax.cli.same_scheduler:show",
          },
      },
  })
