"""When the fields of `slo` are read."""

from pdjax import config
from pdjax.reads.rule import Rule

RULES = (
    Rule(
        ("slo.unloaded_s",),
        lambda run: (
            bool(run.slo.slowdowns) or run.slo.preset in config.RELATIVE_SLOS
        ),
        "nothing in the SLO is relative to it",
    ),
)
