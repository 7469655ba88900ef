"""Reports are tested on the logs that the metrics are tested on."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "metrics"))
