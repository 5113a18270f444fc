"""``python -m geoduel``, and the command ``geoduel``."""

import sys

__all__ = ["main"]


def main() -> int:
    """Run the command, and return its exit code: Ctrl-C ends it quietly while it loads, too."""
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:
        print("geoduel: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
