"""A store's address -> an SQLAlchemy engine: SQLite beside the run folders, or PostgreSQL by URL.

An SQLite file that is damaged is removed: everything in it comes from the run folders. Where the folder of runs cannot be
written, the index is kept in memory for one command.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from steelyard.errors import InfraFault, OperatorFault
from steelyard.store.schema import migrate

INDEX = "index.sqlite"
BUSY_S = 60
UNREACHABLE = (sa.exc.DBAPIError, OSError)  # what a statement raises while the database is away
POSTGRES = ("postgresql://", "postgres://", "postgresql+psycopg://")


def open_database(root: Path, url: str | None = None) -> sa.Engine:
    """An engine whose tables have the present version."""
    if url is not None:
        return _migrate(_postgres(url))
    file = root / INDEX
    if file.is_symlink():
        raise OperatorFault(f"{file} is a link; an index is a file of its own")
    with suppress(OSError):
        file.touch(mode=0o600)  # what it says of runs is for those who may read them
    try:
        return _migrate(_sqlite(file))
    except sa.exc.OperationalError as error:
        if "readonly" in str(error.orig) or "unable to open" in str(error.orig):
            return _migrate(_in_memory())
        raise InfraFault(f"the index {file} cannot be used: {error.orig}") from error
    except sa.exc.DatabaseError:  # not a database, or a damaged one
        remove_index(root)
        return _migrate(_sqlite(file))


def remove_index(root: Path) -> None:
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            (root / f"{INDEX}{ending}").unlink()


def _migrate(engine: sa.Engine) -> sa.Engine:
    try:
        with engine.begin() as connection:
            migrate(connection)
    except BaseException:
        engine.dispose()
        raise
    return engine


def _sqlite(file: Path) -> sa.Engine:
    engine = sa.create_engine(
        f"sqlite:///{file}", connect_args={"timeout": BUSY_S, "check_same_thread": False}
    )
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _in_memory() -> sa.Engine:
    engine = sa.create_engine("sqlite://", poolclass=StaticPool, connect_args={"check_same_thread": False})
    sa.event.listen(engine, "connect", _set_up)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _set_up(connection: sqlite3.Connection, _: Any) -> None:
    """WAL: readers do not wait for a writer. A power cut may cost the last rows, which the folders still have."""
    connection.isolation_level = None  # `_begin` starts transactions
    for setting in ("journal_mode=WAL", "synchronous=NORMAL", "temp_store=MEMORY", "cache_size=-65536"):
        connection.execute(f"PRAGMA {setting}").close()


def _begin(connection: sa.Connection) -> None:
    """IMMEDIATE: a transaction that reads first and writes later never fails because another one wrote in between."""
    connection.exec_driver_sql(
        "BEGIN" if connection.get_execution_options().get("reads") else "BEGIN IMMEDIATE"
    )


def _postgres(url: str) -> sa.Engine:
    if not url.startswith(POSTGRES):
        raise OperatorFault(f"--store {_without_password(url)}: a store is postgresql://USER@HOST/DATABASE")
    try:
        import psycopg  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise OperatorFault("--store postgresql://...: install steelyard[postgres]") from None
    address = "postgresql+psycopg://" + url.split("://", 1)[1]
    engine = sa.create_engine(address, pool_pre_ping=True, connect_args={"connect_timeout": 10})
    try:
        engine.connect().close()
    except sa.exc.OperationalError as error:
        engine.dispose()
        why = " ".join(str(error.orig).split())
        raise InfraFault(
            f"--store {_without_password(url)}: {why}; the run folders are the truth: without --store they are indexed beside them"
        ) from error
    return engine


def _without_password(url: str) -> str:
    with suppress(sa.exc.ArgumentError):
        return sa.engine.make_url(url).render_as_string(hide_password=True)
    return url.split("://", 1)[0] + "://..."
