"""`python -m pdjax.compare A B`; see `--help`."""

import sys

from pdjax.cli.compare import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
