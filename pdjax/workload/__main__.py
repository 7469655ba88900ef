"""`python -m pdjax.workload FILE`; see `--help`."""

import sys

from pdjax.cli.workload import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
