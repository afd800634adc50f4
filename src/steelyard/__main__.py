"""`python -m steelyard VERB ...` is `steelyard VERB ...`."""

from __future__ import annotations

import sys

from steelyard.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
