"""Which strategy serves a chat trace best with Llama-3.1-70B on 16 H100?

Command:  python -m pdjax.experiment --config=llama70b_h100
          That takes the small sample in the package, made for pdjax. For the
          real trace add --config.workload.path=PATH, with the path of
          AzureLLMInferenceTrace_conv.csv (Azure/AzurePublicDataset).
Minutes:  under 1, no JAX
Expected: At this trace's light load all three meet the SLO for most requests;
          disaggregation has the steadiest gaps between tokens, and the longest
          time until the decode worker's first token (`on D`).
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "simulated"},
      "model": {"preset": "llama-3.1-70b"},
      "cluster": {"tp": 4, "chip": "h100-sxm"},
      "workload": {"kind": "azure"},
      "slo": {"ttft_s": 2.0, "tpot_s": 0.1},
      "sweep": {
          "cases": (
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
          ),
      },
  })
