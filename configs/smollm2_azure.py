"""Does a 1P1D split pay for a real small model on a real trace?

Command:  python -m pdjax.models.fetch smollm2-135m
          python -m pdjax.experiment --config=smollm2_azure
          That takes the small sample in the package, made for pdjax. For the
          real trace add --config.workload.path=PATH, with the path of
          AzureLLMInferenceTrace_conv.csv (Azure/AzurePublicDataset).
Minutes:  under 10 on 2 cores
Expected: Real SmolLM2-135M weights, real English prompts of the trace's
          lengths, two virtual devices. Tokens are equal for both splits. The
          devices share the host's cores, so a prefill slows a decode next door
          too: do not expect the isolation that separate chips give.
"""

from ml_collections import ConfigDict


def get_config() -> ConfigDict:
  return ConfigDict({
      "backend": {"kind": "jax"},
      "model": {
          "preset": "smollm2-135m",
          "weights": "fetched",
          "dtype": "float32",
      },
      "cluster": {"host_devices": 2, "kv_tokens": 16384, "page_tokens": 32},
      "engine": {"verify_tokens": 4},
      "strategy": {"max_num_seqs": 8},
      "workload": {
          "kind": "azure",
          "num_requests": 40,
          "time_scale": 6.0,
          "max_prompt_tokens": 1024,
          "max_output_tokens": 64,
      },
      "slo": {"ttft_s": 10.0, "tpot_s": 0.5},
      "sweep": {
          "cases": (
              {
                  "name": "2C continuous",
                  "cluster.split": "2C",
                  "strategy.kind": "continuous",
              },
              {
                  "name": "1P1D",
                  "cluster.split": "1P1D",
                  "strategy.kind": "disaggregated",
              },
          ),
      },
  })
