"""Does chunked prefill pay for a chat model on one TPU slice?

Command:  python -m pdjax.preflight --config=tpu_chat --target=v5e:2x2
          first: it compiles every program for the slice and says how much KV
          cache fits, on any machine. On the slice itself:
          python -m pdjax.experiment --config=tpu_chat
          For Llama-3-70B on v5p:2x2x2 add --config.model.preset=llama-3-70b
          --config.cluster.tp=8.
Minutes:  about 3 to check on 2 cores; 5 on the slice
Expected: Both fit. Weights are random, which costs the same time as real ones.
          Chunks cost some TTFT and take the stalls out of ITL's tail.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {"preset": "llama-3-8b", "dtype": "bfloat16"},
      "cluster": {"split": "1C", "tp": 4, "page_tokens": 64},
      "engine": {"matmul_precision": "default"},
      "strategy": {"max_num_seqs": 64},
      "workload": {
          "num_requests": 300,
          "rate": 4.0,
          "prompt": {
              "kind": "lognormal", "mean": 1024, "cv": 1.0, "high": 4096,
          },
          "output": {
              "kind": "lognormal", "mean": 256, "cv": 0.8, "high": 1024,
          },
      },
      "slo": {"ttft_s": 1.0, "tpot_s": 0.05},
      "sweep": {
          "cases": (
              {"name": "continuous", "strategy.kind": "continuous"},
              {
                  "name": "chunked",
                  "strategy.kind": "chunked",
                  "strategy.chunk_size": 512,
              },
          ),
      },
  })
