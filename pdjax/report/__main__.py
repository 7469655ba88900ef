"""`python -m pdjax.report DIR`; see `--help`."""

import sys

from pdjax.cli.report import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
