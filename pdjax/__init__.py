"""pdjax: prefill/decode serving studies, one scheduler and two backends.

Importing the package imports nothing else but what finds compiled modules;
`--help` must stay fast and the simulator must run without JAX.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from pdjax import accelerated

if TYPE_CHECKING:
  from pdjax.results.tables import Results

__version__ = "0.1.0"

accelerated.install(Path(__path__[0]))


def load(folder: str) -> "Results":
  """The finished runs of a folder of results, as tables for a notebook.

  Tables are pyarrow's; `to_pandas()` works where pandas is installed.

  >>> results = load(folder)
  >>> results
  Results(2 runs)
  >>> columns = ["cluster.split", "kind", "completed"]
  >>> results.runs.select(columns).to_pylist()[0]
  {'cluster.split': '2C', 'kind': 'simulated', 'completed': 40}
  >>> results.requests.num_rows
  80
  >>> results.requests.column_names[:4]
  ['run', 'label', 'request', 'state']

  Args:
    folder: a run's, an experiment's, or that of a config with blocks.

  Raises:
    pdjax.config.ConfigError: a ValueError of one line: no such folder, or no
      finished run in it.
  """
  from pdjax.results.tables import load as read

  return read(folder)
