"""`python -m seer_env`: the command line."""

import sys

from seer_env.cli import main

if __name__ == "__main__":
    sys.exit(main())
