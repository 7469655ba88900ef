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
    Rule(
        ("backend.padding",),
        lambda run: (
            simulated(run)
            and run.backend.costs in config.NAMED_COSTS
            and config.lanes_of(run.strategy) is None
            and run.strategy.kind != "adaptive_chunk"
        ),
        "only assumed or fitted costs are padded: a calibration is of padded"
        " passes, our engine has no lanes, and adaptive_chunk weighs the steps"
        " as they are",
    ),
)
