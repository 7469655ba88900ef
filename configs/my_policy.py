"""Does a batching rule of one's own beat the built-in one?

Command:  python -m pdjax.experiment --config=my_policy
Minutes:  under 1, no JAX
Expected: Shortest prompt first lowers the mean time to the first token and
          raises its tail, against chunked prefill in order of arrival.

The rule is `examples/my_policy.py`, which the package brings along; put your
own module in its place.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-8b"},
      "cluster": {"split": "2C", "chip": "a100-80gb-sxm"},
      "workload": {
          "kind": "synthetic",
          "num_requests": 400,
          "rate": 14.0,
          "prompt": {"kind": "lognormal", "mean": 1000, "cv": 1.5},
          "output": {"kind": "lognormal", "mean": 150, "cv": 1.0, "high": 1000},
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.1},
      "sweep": {
          "cases": (
              {"name": "in order", "strategy.kind": "chunked",
               "strategy.chunk_size": 256},
              {"name": "shortest first",
               "strategy.kind": "examples.my_policy:ShortestFirst"},
          ),
      },
  })
