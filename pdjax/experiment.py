"""`python -m pdjax.experiment --config=...`; see `--help`."""

import sys

from pdjax.cli.experiment import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
