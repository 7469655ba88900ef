"""Which split of eight workers serves most within the SLO, chip for chip?

Command:  python -m pdjax.experiment --config=pd_split
Minutes:  about 3 on 2 idle cores (4 to 5 of CPU time), no JAX; the second
          time seconds
Expected: Long prompts and short answers want prefill workers: each more of
          them serves more per chip, up to 7P1D. With 50 ms per token as the
          limit, eight workers that do both keep up with half of that at their
          own best chunk size, since a prompt stalls the answers beside it. All
          simulated, uncalibrated. Best designs lie on edges of the grid that
          are no accident: with 2 chips the weights do not fit, a machine has 8,
          and chunks of 16384 are whole prompts.
"""

from ml_collections import ConfigDict

WORKERS = 8


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-70b"},
      "cluster": {"chip": "a100-80gb-sxm"},
      "workload": {
          "rate": 8.0,
          "duration_s": 90.0,
          "prompt": {"kind": "lognormal", "mean": 4000, "high": 16000},
          "output": {"kind": "lognormal", "mean": 150, "cv": 0.8, "high": 1000},
      },
      "slo": {"ttft_s": 4.0, "tpot_s": 0.05},
      "sweep": {
          "cases": (
              *(
                  {
                      "name": f"{prefill}P{WORKERS - prefill}D",
                      "cluster.split": f"{prefill}P{WORKERS - prefill}D",
                      "strategy.kind": "disaggregated",
                  }
                  for prefill in range(1, WORKERS)
              ),
              {
                  "name": f"{WORKERS}C",
                  "cluster.split": f"{WORKERS}C",
                  "strategy.kind": "chunked",
              },
          ),
          "grid": {
              "cluster": {"tp": (4, 8)},
              "strategy": {"chunk_size": (128, 512, 2048, 8192, 16384)},
          },
          "search": {"budget": 350, "tolerance": 0.1, "tune_seeds": (1000,)},
      },
  })
