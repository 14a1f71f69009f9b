"""``python -m lineage_reference.demo [--port 8000]``: serve the page on this machine. Needs uvicorn."""

from __future__ import annotations

import argparse
import sys


def main() -> int:
    """Serve until interrupted. Returns 2 where something that it needs is not installed."""
    parser = argparse.ArgumentParser(prog="python -m lineage_reference.demo", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        import uvicorn

        from lineage_reference.demo import Demo
    except ImportError as error:
        print(f"demo: {error}; install `pytest-lineage[http]` and uvicorn", file=sys.stderr)
        return 2
    print(f"http://127.0.0.1:{options.port}/  (Ctrl-C ends it)")
    uvicorn.run(Demo().app, host="127.0.0.1", port=options.port, log_level="warning")
    return 0


if __name__ == "__main__":
    sys.exit(main())
