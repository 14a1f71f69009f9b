"""``python -m pytest_lineage`` is the command line, and so is the console script."""

import sys


def run() -> int:
    """Run a command. An interrupt ends it quietly from here on, while modules are imported as well."""
    try:
        from pytest_lineage.cli import main

        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(run())
