"""How far off is the calibrated simulator on the machine at hand?

Command:  python -m pdjax.calibrate --config=engine_fidelity \
              --only='case=2C chunked' --out=mine.json
          python -m pdjax.experiment --config=engine_fidelity
          python -m pdjax.fidelity results/engine_fidelity \
              --calibration=mine.json
          For SmolLM2-135M add --config.model.preset=smollm2-135m
          --sweep='workload.rate=1,3' --config.workload.num_requests=100 to the
          first two.
Minutes:  about 15 on 2 idle cores; SmolLM2 about 20
Expected: Medians of steps that are alike are close; tails are worse, as two
          devices share the caches and the memory of one host, and the simulator
          prices each as if it were alone. Every run is made twice: what the two
          differ by is the noise floor, printed beside.

Nothing else should run on the machine. Two virtual devices, so that each has a
core where there are two.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {"preset": "small", "dtype": "float32"},
      "cluster": {"host_devices": 2, "kv_tokens": 8192},
      "engine": {"max_programs": 8, "verify_tokens": 0},
      "strategy": {"max_num_seqs": 8},
      "workload": {
          "kind": "synthetic",
          "num_requests": 300,
          "prompt": {
              "kind": "empirical", "values": (24, 48, 96, 128, 256, 512),
          },
          "output": {"kind": "fixed", "mean": 24},
      },
      "slo": {"ttft_s": 0.5, "tpot_s": 0.05},
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
                  "strategy.chunk_size": 128,
              },
              {
                  "name": "1P1D",
                  "cluster.split": "1P1D",
                  "strategy.kind": "disaggregated",
              },
          ),
          "grid": {"workload": {"rate": (6.0, 14.0)}},
          "repeats": 2,
      },
  })
