"""`python -m pdjax.accelerate`; see `--help`."""

import sys

from pdjax.cli.accelerate import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
