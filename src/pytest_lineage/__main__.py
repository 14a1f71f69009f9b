"""``python -m pytest_lineage`` is the command line."""

import sys

from pytest_lineage.cli import main

sys.exit(main())
