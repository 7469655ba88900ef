"""Which chunk size is best, and does that depend on the load?

Command:  python -m pdjax.experiment --config=chunk_by_rate
Minutes:  ?
Expected: ?
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-8b"},
      "cluster": {"chip": "h100-sxm"},
      "workload": {
          "kind": "synthetic",
          "num_requests": 200,
          "prompt": {"kind": "lognormal", "mean": 1500, "cv": 1.0,
                     "high": 8000},
          "output": {"kind": "lognormal", "mean": 120, "cv": 0.8, "high": 600},
      },
      "slo": {"ttft_s": 0.5, "tpot_s": 0.02},
      "sweep": {
          "cases": (
              {
                  "name": "2C continuous",
                  "cluster.split": "2C",
                  "strategy.kind": "continuous",
              },
              {
                  "name": "2C chunked",
                  "cluster.split": "2C",
                  "strategy.kind": "chunked",
              },
              {
                  "name": "1P1D",
                  "cluster.split": "1P1D",
                  "strategy.kind": "disaggregated",
              },
          ),
          "grid": {
              "strategy": {"chunk_size": "log(128,8192,7)"},
              "workload": {"rate": "log(2,32,5)"},
          },
          "seeds": "0-2",
      },
  })
