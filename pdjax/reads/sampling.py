"""When the fields of `sampling` are read."""

from pdjax.reads.questions import NO_DEVICES, measured
from pdjax.reads.rule import Rule

RULES = (
    Rule(("sampling.temperature",), measured, NO_DEVICES),
    Rule(
        (
            "sampling.seed", "sampling.top_k", "sampling.top_p",
            "sampling.min_p",
        ),
        lambda run: measured(run) and run.sampling.temperature > 0,
        "greedy sampling draws nothing",
    ),
    Rule(
        ("sampling.stop_ids", "sampling.stop"),
        lambda run: measured(run) and run.workload.stop == "eos",
        "only workload.stop='eos' lets an answer end before its length",
    ),
)
