"""`python -m pdjax.generate --config=... --prompt=...`; see `--help`."""

import sys

from pdjax.cli.generate import main

if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
