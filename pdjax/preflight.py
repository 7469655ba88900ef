"""`python -m pdjax.preflight --config=X --target=v5e:2x2`; see `--help`."""

import sys

from pdjax.cli.aot import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
