"""``python -m geoduel`` is the command ``geoduel``."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
