"""The models known by name: published sizes, each with its source.

A table and a look-up; `pdjax.models.spec` says what the sizes imply. Nothing
here imports jax, so the simulator and the command line read it freely.
"""

import difflib

from pdjax import config
from pdjax.fieldtypes import shown
from pdjax.models.rope import Llama3Rope, YarnRope
from pdjax.models.spec import Experts, LatentAttention, ModelSpec

_LITGPT = "Lightning-AI/litgpt@26857050 litgpt/config.py"
_FLEXGEN = "FMInference/FlexGen@19753bc0 flexgen/opt_config.py"
_AICONFIGURATOR = "ai-dynamo/aiconfigurator@095f58a5 model_configs"
_INFERENCE_SIM = "inference-sim/inference-sim@f90a1e3a model_configs"
_VIDUR = "microsoft/vidur@01f216fe vidur/config/model_config.py"
_RECALLED = "the model's published configuration, recalled"
_OWN = "pdjax"


def _spec(
    name: str,
    num_layers: int,
    hidden_size: int,
    heads: tuple[int, int, int],
    ffn_size: int,
    vocab_size: int,
    context: int,
    **more,
) -> ModelSpec:
  """`heads` = (query heads, kv heads, head width)."""
  num_heads, num_kv_heads, head_dim = heads
  return ModelSpec(
      name=name,
      num_layers=num_layers,
      hidden_size=hidden_size,
      num_heads=num_heads,
      num_kv_heads=num_kv_heads,
      head_dim=head_dim,
      ffn_size=ffn_size,
      vocab_size=vocab_size,
      max_position_embeddings=context,
      **more,
  )


_LLAMA_31_ROPE = Llama3Rope(
    factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
    original_context=8192,
)


def _llama3(name: str, *sizes, **more) -> ModelSpec:
  return _spec(name, *sizes, rope_theta=5e5, source=_LITGPT, **more)


def _qwen2(name: str, *sizes, **more) -> ModelSpec:
  return _spec(
      name, *sizes, rope_theta=1e6, attention_bias="qkv", source=_LITGPT, **more
  )


def _qwen3(name: str, *sizes, source: str = _LITGPT, **more) -> ModelSpec:
  return _spec(
      name, *sizes, rope_theta=1e6, norm_eps=1e-6, qk_norm=True, source=source,
      **more,
  )


def _opt(name: str, num_layers: int, hidden_size: int, heads: int) -> ModelSpec:
  return _spec(
      name, num_layers, hidden_size, (heads, heads, 128), 4 * hidden_size,
      50272, 2048, rope_theta=None, norm="layernorm", mlp="relu",
      mlp_bias=True, attention_bias="qkvo", tie_word_embeddings=True,
      source=_FLEXGEN,
  )


_ALL = (
    # Ours: for tests, and for a laptop.
    _spec("tiny", 2, 64, (4, 2, 16), 96, 256, 512, source=_OWN),
    _spec("small", 4, 256, (8, 4, 32), 704, 2048, 8192, source=_OWN),
    # Llama and models of its exact architecture.
    _spec(
        "smollm2-135m", 30, 576, (9, 3, 64), 1536, 49152, 8192,
        rope_theta=1e5, tie_word_embeddings=True, source=_LITGPT,
    ),
    _spec(
        "tinyllama-1.1b", 22, 2048, (32, 4, 64), 5632, 32000, 2048,
        source=_LITGPT,
    ),
    _spec(
        "llama-2-7b", 32, 4096, (32, 32, 128), 11008, 32000, 4096,
        source=_LITGPT,
    ),
    _spec(
        "llama-2-13b", 40, 5120, (40, 40, 128), 13824, 32000, 4096,
        source=_LITGPT,
    ),
    _spec(
        "llama-2-70b", 80, 8192, (64, 8, 128), 28672, 32000, 4096,
        source=_LITGPT,
    ),
    _llama3("llama-3-8b", 32, 4096, (32, 8, 128), 14336, 128256, 8192),
    _llama3("llama-3-70b", 80, 8192, (64, 8, 128), 28672, 128256, 8192),
    _llama3(
        "llama-3.1-8b", 32, 4096, (32, 8, 128), 14336, 128256, 131072,
        rope_scaling=_LLAMA_31_ROPE,
    ),
    _llama3(
        "llama-3.1-70b", 80, 8192, (64, 8, 128), 28672, 128256, 131072,
        rope_scaling=_LLAMA_31_ROPE,
    ),
    _llama3(
        "llama-3.1-405b", 126, 16384, (128, 8, 128), 53248, 128256, 131072,
        rope_scaling=_LLAMA_31_ROPE,
    ),
    _spec(
        "yi-34b", 60, 7168, (56, 8, 128), 20480, 64000, 4096,
        rope_theta=5e6, source=_INFERENCE_SIM,
    ),
    _spec(
        "mistral-7b-v0.1", 32, 4096, (32, 8, 128), 14336, 32000, 32768,
        sliding_window=4096, source=_LITGPT,
    ),
    # Qwen. The 14B, 32B and 72B epsilons are the base models'.
    _qwen2(
        "qwen2.5-7b", 28, 3584, (28, 4, 128), 18944, 152064, 131072,
        norm_eps=1e-6,
    ),
    _qwen2("qwen2.5-14b", 48, 5120, (40, 8, 128), 13824, 152064, 131072),
    _qwen2("qwen2.5-32b", 64, 5120, (40, 8, 128), 27648, 152064, 131072),
    _qwen2("qwen2.5-72b", 80, 8192, (64, 8, 128), 29568, 152064, 131072),
    _qwen3("qwen3-8b", 36, 4096, (32, 8, 128), 12288, 151936, 40960),
    _qwen3(
        "qwen3-14b", 40, 5120, (40, 8, 128), 17408, 151936, 40960,
        source=_RECALLED,
    ),
    _qwen3("qwen3-32b", 64, 5120, (64, 8, 128), 25600, 151936, 40960),
    # Other dense models.
    _opt("opt-13b", 40, 5120, 40),
    _opt("opt-66b", 64, 9216, 72),
    _opt("opt-175b", 96, 12288, 96),
    _spec(
        "falcon-180b", 80, 14848, (232, 8, 64), 59392, 65024, 2048,
        norm="layernorm", mlp="gelu", parallel_residual=True, source=_LITGPT,
    ),
    # Dense models that published step times are of; only simulated.
    _spec(
        "bloom-176b", 70, 14336, (112, 112, 128), 57344, 250880, 2048,
        rope_theta=None, norm="layernorm", mlp="gelu", mlp_bias=True,
        attention_bias="qkvo", tie_word_embeddings=True, source=_RECALLED,
    ),
    _spec(
        "codellama-34b", 48, 8192, (64, 8, 128), 22016, 32000, 16384,
        rope_theta=1e6, source=_VIDUR,
    ),
    _spec(
        "qwen-72b", 80, 8192, (64, 64, 128), 24576, 152064, 32768,
        rope_theta=1e6, attention_bias="qkv", source=_VIDUR,
    ),
    _spec(
        "internlm2-20b", 48, 6144, (48, 8, 128), 16384, 92544, 32768,
        rope_theta=1e6, source=_VIDUR,
    ),
    _spec(
        "phi-2", 32, 2560, (32, 32, 80), 10240, 51200, 2048,
        norm="layernorm", mlp="gelu", mlp_bias=True, attention_bias="qkvo",
        parallel_residual=True, source=_VIDUR,
    ),
    # Mixtures of experts.
    _spec(
        "mixtral-8x7b", 32, 4096, (32, 8, 128), 14336, 32000, 32768,
        rope_theta=1e6, source=_LITGPT,
        experts=Experts(count=8, per_token=2, ffn_size=14336),
    ),
    _qwen3(
        "qwen3-30b-a3b", 48, 2048, (32, 4, 128), 6144, 151936, 40960,
        source=_RECALLED,
        experts=Experts(count=128, per_token=8, ffn_size=768),
    ),
    _spec(
        "deepseek-v3", 61, 7168, (128, 128, 192), 18432, 129280, 163840,
        rope_scaling=YarnRope(
            factor=40.0, original_context=4096, sharpness=1.0
        ),
        norm_eps=1e-6, source=_AICONFIGURATOR,
        experts=Experts(
            count=256, per_token=8, shared=1, ffn_size=2048, dense_layers=3,
            router_bias=True,
        ),
        latent=LatentAttention(
            q_rank=1536, kv_rank=512, rope_dim=64, plain_dim=128, value_dim=128
        ),
    ),
)

PRESETS: dict[str, ModelSpec] = {spec.name: spec for spec in _ALL}


def preset(name: str) -> ModelSpec:
  """The model of this name.

  Raises:
    ConfigError: no such model.
  """
  if name in PRESETS:
    return PRESETS[name]
  known = (*sorted(PRESETS), config.FROM_WEIGHTS)
  close = difflib.get_close_matches(name, known, n=1)
  hint = f"did you mean {close[0]!r}?" if close else (
      f"known: {', '.join(known)}"
  )
  raise config.ConfigError(
      [f"model.preset: unknown model {shown(name)}; {hint}"]
  )
