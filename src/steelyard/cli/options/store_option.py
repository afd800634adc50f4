"""`--store`: the database of the index, when it is not the file beside the runs."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.report.stored.open_store import open_store

if TYPE_CHECKING:
    from steelyard.store.store import Store

VARIABLE = "STEELYARD_STORE"
_MANY = 2000  # folders whose reading takes seconds


def add_store_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--store",
        metavar="URL",
        default=os.environ.get(VARIABLE) or None,
        help=f"postgresql://... that holds the index (default ${VARIABLE}, or index.sqlite beside the runs)",
    )


def synced_store(root: Path, url: str | None) -> Store:
    """The store of a folder of runs, up to date with the folders."""
    store = open_store(root, url)
    try:
        store.sync(print_progress)
    except BaseException:
        store.close()
        raise
    return store


def print_progress(read: int, of: int) -> None:
    """One line for each batch, where there are many."""
    if of >= _MANY:
        sys.stderr.write(f"steelyard: indexed {read} of {of} runs\n")
