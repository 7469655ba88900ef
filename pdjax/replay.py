"""`python -m pdjax.replay FOLDER...`; see `--help`."""

import sys

from pdjax.cli.replay import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
