"""A database that several folders of runs share -> the folders whose runs it has."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from steelyard.store.database import open_database
from steelyard.store.schema import ROOTS, RUNS


def indexed_folders(url: str) -> list[Path]:
    """Those that have runs in the index, by name."""
    engine = open_database(Path(), url)
    try:
        with engine.connect() as connection:
            has_runs = sa.exists().where(RUNS.c.root == ROOTS.c.id)
            paths = connection.execute(sa.select(ROOTS.c.path).where(has_runs).order_by(ROOTS.c.path))
            return [Path(path) for path in paths.scalars()]
    finally:
        engine.dispose()
