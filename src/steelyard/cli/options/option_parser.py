"""The options of one verb. A mistake is one line on stderr, as every other mistake is, not a page of usage with the reason below."""

from __future__ import annotations

import argparse
from typing import NoReturn

OPERATOR = 2


class OptionParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        end = "" if message.endswith("?") else ";"
        self.exit(OPERATOR, f"{self.prog}: {message}{end} `{self.prog} --help` shows the options\n")
