"""`steelyard VERB ...`, and `python -m steelyard VERB ...`."""

from __future__ import annotations

import signal
import sys

# Until the command line has its own handler, Ctrl-C ends the process without a traceback.
if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)

from steelyard.cli.main import main  # the line above comes first

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
