"""How do chunk size and split act together, measured on one machine?

Command:  python -m pdjax.experiment --config=chunk_by_split
Minutes:  about 7 on 2 cores, 20 cells
Expected: The tokens are the same everywhere. Smaller chunks are more steps, and
          on devices that share the cores of one machine each step costs
          everybody: what separates the cells is mostly the number of programs
          that run, so read it as a check of the engine over the whole grid, not
          as advice on chunk sizes.

The model is the quickstart's: a small Llama with random weights on four virtual
devices of the host.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  splits = ("1P3D", "2P2D", "3P1D")
  colocated = {
      "name": "4C", "cluster.split": "4C", "strategy.kind": "chunked",
  }
  handing_over = [
      {
          "name": split,
          "cluster.split": split,
          "strategy.kind": "disaggregated",
      }
      for split in splits
  ]
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {"preset": "small", "dtype": "float32"},
      "cluster": {"host_devices": 4, "kv_tokens": 8192},
      "engine": {"max_programs": 8, "verify_tokens": 2},
      "strategy": {"max_num_seqs": 8},
      "workload": {
          "kind": "synthetic",
          "num_requests": 24,
          "rate": 7.0,
          "prompt": {
              "kind": "empirical",
              "values": (24, 32, 48, 64, 96, 128, 512, 1024),
          },
          "output": {"kind": "fixed", "mean": 20},
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
      "sweep": {
          "cases": (colocated, *handing_over),
          "grid": {"strategy": {"chunk_size": "log(32,512,5)"}},
      },
  })
