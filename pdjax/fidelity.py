"""`python -m pdjax.fidelity FOLDER...`; see `--help`."""

import sys

from pdjax.cli.fidelity import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
