"""One cell as a job for another machine: `do` is called with it there.

The job is plain JSON. Whoever does it runs the cell as a command on that
machine would: it is taken as done if somebody has finished it, tried once more
if its process is killed, kept in the experiment's folder when it is finished,
and its failure is kept there too. So nothing has to be brought back.
"""

import os
import sys
from pathlib import Path
from typing import Any

from pdjax import schema
from pdjax.cli.flags import Flags
from pdjax.cli.plan import Part
from pdjax.cli.work import Work
from pdjax.metrics import provenance
from pdjax.sweep.cells import Cell, Cells
from pdjax.sweep.experiment import Experiment
from pdjax.sweep.store import Store


def do(job: dict[str, Any]) -> None:
  """Runs the job's cell and keeps its run, or its failure."""
  os.chdir(job["directory"])
  sys.path += [path for path in job["path"] if path not in sys.path]
  os.environ["PYTHONPATH"] = os.pathsep.join(job["path"])  # of its processes
  os.environ[provenance.COMMAND] = job["command"]
  cell = Cell(
      run=schema.run_from_tree(job["config"]), case=job["case"],
      swept=job["swept"], repeat=job["repeat"], inputs=tuple(job["inputs"]),
  )
  part = Part(
      experiment=Experiment(name=job["name"], tree={}),
      cells=Cells((cell,), 0), store=Store(Path(job["store"])), question="",
      then=None,
  )
  flags = Flags(
      rerun=job["rerun"], retry_failed=True, profile=job["profile"]
  )
  Work(part, (cell,), flags, lambda text: print(text, flush=True)).run()
