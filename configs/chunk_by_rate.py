"""Which chunk size is best, and does that depend on the load?

Command:  python -m pdjax.experiment --config=chunk_by_rate
Minutes:  under one on 2 idle cores, 225 cells, no JAX
Expected: At light load it hardly matters, as long as chunks are not small: up
          to 16 requests a second chunks of 512 and more keep 96 % of requests
          and more within the SLO, and larger ones answer sooner. Near
          saturation it decides, and the best one depends on the strategy. At 32
          a second, means over three seeds: on mixed workers (2C) 512 is best
          with 93 %; 256 lets prompts queue (53 %), 8192 makes running answers
          wait (49 %). A worker that only prefills (1P1D) has nobody to disturb:
          there larger is better up to whole prompts (19 % at 512, 67 % at
          4096). Three seeds are few: there the intervals of single cells are
          tens of points wide, and which of the two is better is left open.
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
