"""When the fields of `model` are read."""

from pdjax import config
from pdjax.reads.questions import NO_DEVICES, measured, simulated
from pdjax.reads.rule import Rule

RULES = (
    Rule(
        (
            "model.weight_dtype", "model.product_dtype", "model.kv_dtype",
        ),
        simulated,
        "the jax backend keeps everything in model.dtype",
    ),
    Rule(("model.seed",), measured, NO_DEVICES),
    Rule(
        ("model.weights",),
        lambda run: measured(run) or run.model.preset == config.FROM_WEIGHTS,
        "the simulator computes no tokens, and model.preset says the sizes",
    ),
)
