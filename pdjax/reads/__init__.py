"""Which fields a run reads, and what an unsaid one stands for.

A field that the strategy, the backend or the workload never reads is an error
in a single run and is dropped from a sweep's cell, so that equal cells merge.
Where what decides that is unknown, a field counts as read, and what an unsaid
one stands for is unknown too.

Each section of a config has its rules in the module of its name.
"""

from pdjax.reads.arrivals import RATED, arrival_of, timed
from pdjax.reads.implied import SYNTHETIC_REQUESTS, resolved
from pdjax.reads.questions import roles_of
from pdjax.reads.unread import unit, vain
from pdjax.reads.workload import SEED

__all__ = [
    "RATED", "SEED", "SYNTHETIC_REQUESTS", "arrival_of", "resolved", "roles_of",
    "timed", "unit", "vain",
]
