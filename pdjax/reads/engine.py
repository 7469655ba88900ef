"""When the fields of `engine` are read."""

from pdjax.reads.questions import NO_DEVICES, measured
from pdjax.reads.rule import Rule

RULES = (
    Rule(
        ("engine.max_programs",),
        lambda run: measured(run) or run.backend.padding == "engine",
        "only our own engine, or backend.padding='engine', compiles for sizes",
    ),
    Rule(
        (
            "engine.matmul_precision", "engine.kernels", "engine.verify_tokens",
            "engine.device_flops_per_s", "engine.device_bytes_per_s",
        ),
        measured,
        NO_DEVICES,
    ),
)
