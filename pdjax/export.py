"""`python -m pdjax.export DIR --format=...`; see `--help`."""

import sys

from pdjax.cli.export import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
