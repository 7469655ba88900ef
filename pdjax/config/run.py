"""One run: all sections together."""

import dataclasses

from pdjax.config.backend import Backend
from pdjax.config.cluster import Cluster
from pdjax.config.engine import Engine
from pdjax.config.faults import Faults
from pdjax.config.model import Model
from pdjax.config.sampling import Sampling
from pdjax.config.slo import SLO
from pdjax.config.strategy import Strategy
from pdjax.config.workload import Workload


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
  """One run, everything said: a cell of an experiment."""

  backend: Backend = Backend()
  model: Model = Model()
  cluster: Cluster = Cluster()
  strategy: Strategy = Strategy()
  workload: Workload = Workload()
  slo: SLO = SLO()
  sampling: Sampling = Sampling()
  engine: Engine = Engine()
  faults: Faults = Faults()
