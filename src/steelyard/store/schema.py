"""The tables of the index, and how an older index becomes the present one.

    steelyard_version   one row: the version of the tables
    steelyard_roots     folders of runs; several may share one database
    steelyard_runs      one row for each run, small enough to be scanned by the million
    steelyard_lines     result lines as JSON text, read only for the rows that are asked for
    steelyard_tags      one row for each tag of each run

A change of the tables is a new entry of `MIGRATIONS`. An index is never edited in another way.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from steelyard.errors import OperatorFault

METADATA = sa.MetaData()
_KEY = sa.BigInteger().with_variant(sa.Integer, "sqlite")

VERSION = sa.Table("steelyard_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
ROOTS = sa.Table(
    "steelyard_roots",
    METADATA,
    sa.Column("id", _KEY, primary_key=True),
    sa.Column("path", sa.Text, nullable=False, unique=True),
)
RUNS = sa.Table(
    "steelyard_runs",
    METADATA,
    sa.Column("id", _KEY, primary_key=True),
    sa.Column("root", _KEY, nullable=False),
    sa.Column("run", sa.Text, nullable=False),
    sa.Column("stamp", sa.BigInteger, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column(
        "started", sa.Double, nullable=False
    ),  # 0: not known; null would keep listings from using an index
    sa.Column("contract", sa.Text, nullable=False),
    sa.Column("digest", sa.Text),
    sa.Column("agent", sa.Text, nullable=False),
    sa.Column("trial", sa.Text),
    sa.Column("repeat", sa.BigInteger),
    sa.Column("attempt", sa.BigInteger),
    sa.Column("study", sa.Text),
    sa.Column("study_name", sa.Text),
    sa.Column("stage", sa.Text),
    sa.Column("stratum", sa.Text),
    sa.Column("status", sa.Text),
    sa.Column("acceptance", sa.Text),
    sa.Column("termination", sa.Text),
    sa.Column("score", sa.Double),
    sa.Column("reward", sa.Double),
    sa.Column("judge", sa.Text),
    sa.Column("cost_usd", sa.Double),
    sa.Column("tokens_in", sa.BigInteger),
    sa.Column("tokens_out", sa.BigInteger),
    sa.Column("wall_s", sa.Double),
    sa.Column("used", sa.Text),
    sa.Column("is_unsafe", sa.Boolean, nullable=False),
    sa.UniqueConstraint("root", "run", name="steelyard_runs_once"),
    # Each listing sorts by time. A summary groups in the order of its index, and reads nothing but the index.
    sa.Index("steelyard_runs_started", "root", "started", "run"),
    sa.Index("steelyard_runs_contract", "root", "contract", "started", "run"),
    sa.Index("steelyard_runs_agent", "root", "agent", "started", "run"),
    sa.Index("steelyard_runs_state", "root", "state", "started", "run"),
    sa.Index("steelyard_runs_trial", "root", "study", "trial"),
    sa.Index("steelyard_runs_study_name", "root", "study_name", "study"),
    sa.Index("steelyard_runs_summary", "root", "study", "agent", "contract", "state", "cost_usd", "wall_s"),
)
LINES = sa.Table(
    "steelyard_lines",
    METADATA,
    sa.Column("id", _KEY, primary_key=True),
    sa.Column("line", sa.Text, nullable=False),
)
TAGS = sa.Table(
    "steelyard_tags",
    METADATA,
    sa.Column("root", _KEY, nullable=False),
    sa.Column("id", _KEY, nullable=False),
    sa.Column("tag", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("root", "tag", "id"),
    sa.Index("steelyard_tags_of_run", "id"),
)


def _create(connection: sa.Connection) -> None:
    METADATA.create_all(connection)


def _read_again(connection: sa.Connection) -> None:
    """New columns that only the run folders can fill: the rows are made again from them."""
    METADATA.drop_all(connection, tables=[TAGS, LINES, RUNS])
    METADATA.create_all(connection)


# Entry n turns version n into version n + 1.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    _create,
    _read_again,  # is_unsafe
    _read_again,  # started is never null
    _read_again,  # used
)
CURRENT = len(MIGRATIONS)


def migrate(connection: sa.Connection) -> bool:
    """Bring the tables to the present version; returns whether anything changed.

    A newer index than this program knows is refused: a program that does not know a column would write rows without it.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(7283001)"))  # two first users at once
    version = _version(connection)
    if version > CURRENT:
        raise OperatorFault(
            f"the index has version {version}, and this Steelyard knows version {CURRENT}; "
            "use a newer Steelyard, or another store"
        )
    for step in MIGRATIONS[version:]:
        step(connection)
    if version < CURRENT:
        connection.execute(sa.delete(VERSION))
        connection.execute(sa.insert(VERSION).values(version=CURRENT))
    return version < CURRENT


def _version(connection: sa.Connection) -> int:
    if not sa.inspect(connection).has_table(VERSION.name):
        return 0
    return int(connection.execute(sa.select(sa.func.max(VERSION.c.version))).scalar() or 0)
