"""`python -m pdjax.calibrate`; see `--help`."""

import sys

from pdjax.cli.calibrate import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
