"""The schema of one run: frozen, typed, keyword-only; a module a section.

A config file's ConfigDict is converted to these classes by `pdjax.schema`,
which reports every error at once. `None` means "not said"; `reads.resolved`
fills it where the strategy gives it a meaning, and `reads.vain` names what was
said in vain. Units are in the names. Others import from here, whichever module
a name is in.
"""

from pdjax.config.backend import NAMED_COSTS, Backend
from pdjax.config.cluster import Cluster, Link, pages_for, parse_split
from pdjax.config.engine import Engine
from pdjax.config.error import ConfigError
from pdjax.config.faults import Fault, Faults
from pdjax.config.lengths import Lengths
from pdjax.config.model import FROM_WEIGHTS, NAMED_WEIGHTS, Model
from pdjax.config.pool import DEGREES, Pool, Role
from pdjax.config.run import Run
from pdjax.config.sampling import Sampling
from pdjax.config.slo import RELATIVE_SLOS, SLO
from pdjax.config.strategy import (
    BUILTIN_STRATEGIES,
    HANDING_OVER,
    LOCAL_PROMPT_TOKENS,
    WHOLE_PROMPT_TOKENS,
    LaneShares,
    RoleChange,
    Strategy,
    lanes_of,
    most_seqs,
)
from pdjax.config.transfer import WHOLE_REQUESTS, TransferPlan
from pdjax.config.workers import place_of, pools_of, roles_of
from pdjax.config.workload import Workload

__all__ = [
    "BUILTIN_STRATEGIES", "Backend", "Cluster", "ConfigError", "DEGREES",
    "Engine", "FROM_WEIGHTS", "Fault", "Faults", "HANDING_OVER",
    "LOCAL_PROMPT_TOKENS", "LaneShares", "Lengths", "Link", "Model",
    "NAMED_COSTS", "NAMED_WEIGHTS", "Pool", "RELATIVE_SLOS", "Role",
    "RoleChange", "Run", "SLO", "Sampling", "Strategy", "TransferPlan",
    "WHOLE_PROMPT_TOKENS", "WHOLE_REQUESTS", "Workload", "lanes_of",
    "most_seqs", "pages_for", "parse_split", "place_of", "pools_of", "roles_of",
]
