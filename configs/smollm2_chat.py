"""What does SmolLM2 say, and does it depend on how it is served?

Command:  python -m pdjax.models.fetch smollm2-135m
          python -m pdjax.generate --config=smollm2_chat --prompt='...'
          The same by two workers that hand over: add
          --config.cluster.split=1P1D --config.strategy.kind=disaggregated
Minutes:  1 on 2 cores, most of it compiling, and less the next time
Expected: Sensible English; under every strategy the same text, since float32
          and greedy. With sampling.temperature it is another text, and again
          the same under every strategy. As an experiment the config serves a
          few prompts drawn from real English.
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
      "cluster": {
          "split": "4C",
          "host_devices": 4,
          "kv_tokens": 8192,
          "page_tokens": 32,
      },
      "strategy": {"kind": "continuous", "max_num_seqs": 8},
      "engine": {"max_programs": 5, "verify_tokens": 2},
      "workload": {
          "num_requests": 8,
          "arrival": "all_at_once",
          "prompt": {"mean": 48},
          "output": {"mean": 64},
          "stop": "eos",
      },
  })
