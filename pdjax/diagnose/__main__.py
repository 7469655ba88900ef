"""`python -m pdjax.diagnose X`; see `--help`."""

import sys

from pdjax.cli.diagnose import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
