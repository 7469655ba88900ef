"""When the fields of `backend` are read."""

from pdjax import config
from pdjax.reads.questions import ON_ITS_CHIPS, simulated
from pdjax.reads.rule import Rule

RULES = (
    Rule(("backend.costs",), simulated, ON_ITS_CHIPS),
    Rule(
        ("backend.draw",), simulated,
        "only costs of the simulator have an uncertainty to draw from",
    ),
    Rule(("backend.padding",), simulated, "the jax backend pads by itself"),
    Rule(
        ("backend.padding",),
        lambda run: run.backend.costs in config.NAMED_COSTS,
        "only assumed or fitted costs are padded: passes of a calibration or a"
        " profile were measured as their engine padded them",
    ),
    Rule(
        ("backend.padding",),
        lambda run: config.lanes_of(run.strategy) is None,
        "our engine, whose padding it would be, has no lanes",
    ),
    Rule(
        ("backend.padding",),
        lambda run: run.strategy.kind != "adaptive_chunk",
        "adaptive_chunk weighs steps as they are, without padding",
    ),
)
