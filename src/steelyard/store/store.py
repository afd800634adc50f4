"""A folder of runs and its index: list, filter, sort and count runs without reading every folder.

    store = open_store(Path(".steelyard/runs"))        (steelyard/report/stored/open_store.py)
    store.sync()                                       folders that are new, changed or gone
    store.query(Query(agent="my-*", limit=50))         -> Entry, ...
    store.results(study="9f3c...")                     -> result lines, oldest first

The folders are the truth. `sync` compares each folder's name and time of change with the index, reads what differs, and
forgets what is gone; it is called before each listing. An entry whose run may still change is read each time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import orjson
import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from steelyard.errors import OperatorFault
from steelyard.evidence.folder.folder import EVENTS, MANIFEST, RunFolder
from steelyard.evidence.in_use import is_in_use
from steelyard.filesystem.remove import remove_tree
from steelyard.store.database import open_database, remove_index
from steelyard.store.entry import UNFINISHED, Entry, ReadEntry, moment
from steelyard.store.query import Query, conditions, order
from steelyard.store.schema import LINES, ROOTS, RUNS, TAGS
from steelyard.store.study_lock import StudyLock

BATCH = 500  # runs that one transaction writes
SETTLED_NS = 2_000_000_000  # a folder that changed later than this before it was read may change within one tick of its clock
UNSETTLED = 0
SUMMARY = ("study", "agent", "contract", "state")  # in the order of the index of summaries
COUNTED = (*SUMMARY, "judge", "study_name", "digest", "termination")
_WRITERS = 7283002  # the lock of those who write about one folder of runs
# Built once: building takes longer than writing. Many rows in one statement; their numbers come back in the order of the rows.
_INSERT_RUN = sa.insert(RUNS).returning(RUNS.c.id, sort_by_parameter_order=True)
_INSERT_LINE, _INSERT_TAG = sa.insert(LINES), sa.insert(TAGS)
_FIND_RUNS = sa.select(RUNS.c.id).where(
    RUNS.c.root == sa.bindparam("of_root"), RUNS.c.run.in_(sa.bindparam("named", expanding=True))
)
_COLUMNS = tuple(
    one.name for one in fields(Entry) if one.name not in ("started", "tags", "phase", "folder", "line")
)


class Change(NamedTuple):
    """What `sync` did, and what it found: another mark where another process has written since the last `sync`."""

    read: int
    removed: int
    mark: tuple[int, int] = (0, 0)


class Store:
    """`read` turns a run folder into its entry; `url` names a PostgreSQL database that several folders may share."""

    def __init__(self, root: Path, read: ReadEntry, url: str | None = None) -> None:
        self.root = root.absolute()
        self._read, self._url = read, url
        if url is None and not self.root.is_dir():
            raise OperatorFault(f"{root} is not a folder of runs")
        self._engine = open_database(self.root, url)
        self._root_id = self._register()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        self._engine.dispose()

    @property
    def is_in_memory(self) -> bool:
        """Whether the index could not be written to a file: all threads then share one connection, and take turns."""
        return isinstance(self._engine.pool, StaticPool)

    def _register(self) -> int:
        with self._engine.begin() as connection:
            found = self._find_root(connection)
            if found is None:
                path = str(self.root)
                connection.execute(sa.insert(ROOTS).values(path=path))
                found = self._find_root(connection)
        assert found is not None
        return found

    def _find_root(self, connection: sa.Connection) -> int | None:
        return connection.execute(sa.select(ROOTS.c.id).where(ROOTS.c.path == str(self.root))).scalar()

    def lock_study(self, study: str) -> StudyLock:
        return StudyLock(self._engine, study)

    # Folders -> index

    def sync(self, on_read: Callable[[int, int], None] | None = None) -> Change:
        """Bring the index up to date; `on_read` is called with how many of how many folders were read."""
        present = self._folders()
        with self._reading() as connection:
            columns = sa.select(RUNS.c.run, RUNS.c.stamp, RUNS.c.state)
            rows = _fetch_all(connection.execute(columns.where(RUNS.c.root == self._root_id)))
        known = {run: UNSETTLED if state in UNFINISHED else stamp for run, stamp, state in rows}
        stale = sorted(
            run for run, stamp in present.items() if stamp == UNSETTLED or known.get(run, UNSETTLED) != stamp
        )
        gone, runs_read = [run for run in known if run not in present], 0
        for start in range(0, len(stale), BATCH):
            batch = stale[start : start + BATCH]
            read = [(self._entry(run), present[run]) for run in batch]
            self._write(read)
            runs_read += sum(entry is not None for entry, _ in read)
            gone += [
                run for run, (entry, _) in zip(batch, read, strict=True) if entry is None and run in known
            ]
            if on_read is not None:
                on_read(min(start + BATCH, len(stale)), len(stale))
        self._forget(gone)
        return Change(runs_read, len(gone), (len(rows), sum(stamp for _, stamp, _ in rows)))

    def index_run(self, folder: Path | RunFolder) -> Entry:
        """Read one run folder and write its row."""
        path = folder.path if isinstance(folder, RunFolder) else folder
        if path.absolute().parent != self.root:
            raise OperatorFault(f"{path} is not a run of {self.root}")
        stamp = _stamp(os.lstat(path).st_mtime_ns)
        entry = self._entry(path.name)
        if entry is None:
            raise OperatorFault(f"{path} is not a run")
        self._write([(entry, stamp)])
        return entry

    def put(self, entry: Entry) -> None:
        """Write the row of a run that has just ended; the next `sync` reads its folder."""
        self._write([(entry, UNSETTLED)])

    def rebuild(self, on_read: Callable[[int, int], None] | None = None) -> Change:
        """Forget everything about this folder of runs, and read every folder again."""
        if self._url is None:
            self._engine.dispose()
            remove_index(self.root)
            self._engine = open_database(self.root)
            self._root_id = self._register()
        else:
            with self._engine.begin() as connection:
                ids = sa.select(RUNS.c.id).where(RUNS.c.root == self._root_id)
                connection.execute(sa.delete(LINES).where(LINES.c.id.in_(ids)))
                connection.execute(sa.delete(TAGS).where(TAGS.c.root == self._root_id))
                connection.execute(sa.delete(RUNS).where(RUNS.c.root == self._root_id))
        return self.sync(on_read)

    def remove_run(self, run: str) -> None:
        """Remove a run folder, and then its row; refuses a run that is under way, and a name that is no run here."""
        path = self.root / run
        if (
            run in (".", "..", "")
            or "/" in run
            or path.is_symlink()
            or not path.is_dir()
            or not _is_run(path)
        ):
            raise OperatorFault(f"{run} is not a run of {self.root}")
        if is_in_use(path):
            raise OperatorFault(f"{run} is running")
        remove_tree(path)
        self._forget([run])

    def _folders(self) -> dict[str, int]:
        """Name -> time of change of everything that may be a run."""
        if not self.root.is_dir():
            return {}
        found: dict[str, int] = {}
        settled = time.time_ns() - SETTLED_NS
        with os.scandir(self.root) as entries:
            for one in entries:
                if one.is_dir(follow_symlinks=False) and not one.name.startswith("."):  # as `find_runs`
                    try:
                        changed = one.stat(follow_symlinks=False).st_mtime_ns
                    except FileNotFoundError:  # removed a moment ago
                        continue
                    found[one.name] = changed if changed < settled else UNSETTLED
        return found

    def _entry(self, run: str) -> Entry | None:
        path = self.root / run
        return self._read(RunFolder(path)) if _is_run(path) else None

    def _write(self, read: Sequence[tuple[Entry | None, int]]) -> None:
        known = [(entry, stamp) for entry, stamp in read if entry is not None]
        if not known:
            return
        with self._engine.begin() as connection:
            if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
                lock = sa.func.pg_advisory_xact_lock(_WRITERS, self._root_id)
                connection.execute(sa.select(lock))
            self._delete(connection, [entry.run for entry, _ in known])
            self._insert(connection, known)

    def _insert(self, connection: sa.Connection, known: Sequence[tuple[Entry, int]]) -> None:
        rows = [self._row(entry, stamp) for entry, stamp in known]
        keys = connection.execute(_INSERT_RUN, rows).scalars().all()
        lines: list[dict[str, Any]] = []
        tags: list[dict[str, Any]] = []
        for key, (entry, _) in zip(keys, known, strict=True):
            text = None if entry.line is None else _to_json(entry.line)
            if text is not None:
                lines.append({"id": key, "line": text})
            tags += [{"root": self._root_id, "id": key, "tag": tag} for tag in dict.fromkeys(entry.tags)]
        if lines:
            connection.execute(_INSERT_LINE, lines)
        if tags:
            connection.execute(_INSERT_TAG, tags)

    def _row(self, entry: Entry, stamp: int) -> dict[str, Any]:
        row = {name: getattr(entry, name) for name in _COLUMNS}
        row |= {"root": self._root_id, "stamp": stamp}
        row["started"] = 0.0 if entry.started is None else entry.started.timestamp()
        return row

    def _forget(self, runs: Sequence[str]) -> None:
        for start in range(0, len(runs), BATCH):
            with self._engine.begin() as connection:
                self._delete(connection, runs[start : start + BATCH])

    def _delete(self, connection: sa.Connection, runs: Sequence[str]) -> None:
        found = connection.execute(_FIND_RUNS, {"of_root": self._root_id, "named": list(runs)})
        ids = list(found.scalars())
        if not ids:
            return
        connection.execute(sa.delete(LINES).where(LINES.c.id.in_(ids)))
        connection.execute(sa.delete(TAGS).where(TAGS.c.id.in_(ids)))
        connection.execute(sa.delete(RUNS).where(RUNS.c.id.in_(ids)))

    # Index -> answers

    def _reading(self) -> sa.Connection:
        return self._engine.connect().execution_options(reads=True)

    def query(self, query: Query | None = None, *, lines: bool = False) -> list[Entry]:
        """The runs that match, in order; with `lines`, each with its result line."""
        query = query or Query()
        with self._reading() as connection:
            columns = [*RUNS.c, *([LINES.c.line] if lines else [])]
            source = RUNS.outerjoin(LINES, LINES.c.id == RUNS.c.id) if lines else RUNS
            rows = connection.execute(
                sa.select(*columns)
                .select_from(source)
                .where(*self._chosen(query, connection))
                .order_by(*order(query))
            ).mappings()
            found = {row["id"]: self._entry_of_row(dict(row)) for row in rows}
            tags = self._tags(connection, list(found))
        return [replace(entry, tags=tuple(tags.get(key, ()))) for key, entry in found.items()]

    def _chosen(self, query: Query, connection: sa.Connection) -> list[sa.ColumnElement[bool]]:
        """The conditions; of a page, its rows by number, so that sorting carries numbers and not whole lines."""
        where = conditions(query, self._root_id, connection)
        if query.limit is None and not query.offset:
            return where
        page = sa.select(RUNS.c.id).where(*where).order_by(*order(query))
        return [RUNS.c.id.in_(page.limit(query.limit).offset(query.offset or None))]

    def count(self, query: Query | None = None) -> int:
        query = query or Query()
        with self._reading() as connection:
            where = conditions(query, self._root_id, connection)
            return int(
                connection.execute(sa.select(sa.func.count()).select_from(RUNS).where(*where)).scalar_one()
            )

    def tally(self, by: Sequence[str], query: Query | None = None) -> list[Mapping[str, Any]]:
        """Runs counted by some of `COUNTED`, with the cost and the time that is known of them, and of how many the cost is (`costs`).

        By the columns of `SUMMARY` the database groups in the order of an index, without sorting; the rest is a sum over few rows.
        By others it looks at every run.
        """
        if not by or set(by) - set(COUNTED):
            raise OperatorFault(f"a tally is by some of {', '.join(COUNTED)}")
        names = SUMMARY if set(by) <= set(SUMMARY) else tuple(by)
        columns = [RUNS.c[name] for name in names]
        with self._reading() as connection:
            where = conditions(query or Query(), self._root_id, connection)
            rows = connection.execute(
                sa.select(
                    *columns,
                    sa.func.count(),
                    sa.func.sum(RUNS.c.cost_usd),
                    sa.func.sum(RUNS.c.wall_s),
                    sa.func.count(RUNS.c.cost_usd),
                )
                .where(*where)
                .group_by(*columns)
            ).all()
        return _sum([tuple(row) for row in rows], [names.index(name) for name in by], by)

    def results(self, *, study: str | None = None, query: Query | None = None) -> Iterator[dict[str, Any]]:
        """The result lines of a study, oldest first, read a batch at a time: every run, also those that were repeated."""
        base = replace(query or Query(), study=study) if study is not None else query or Query()
        after = ""
        while True:
            with self._reading() as connection:
                rows = connection.execute(
                    sa.select(RUNS.c.run, LINES.c.line)
                    .join(LINES, LINES.c.id == RUNS.c.id)
                    .where(*conditions(base, self._root_id, connection), RUNS.c.run > after)
                    .order_by(RUNS.c.run)
                    .limit(BATCH)
                ).all()
            for run, line in rows:
                yield {**orjson.loads(line), "folder": str(self.root / run)}
            if len(rows) < BATCH:
                return
            after = rows[-1].run

    def _entry_of_row(self, row: Mapping[str, Any]) -> Entry:
        values = {name: row[name] for name in _COLUMNS}
        line = orjson.loads(row["line"]) if row.get("line") is not None else None
        folder = self.root / row["run"]
        if line is not None:
            line["folder"] = str(folder)
        return Entry(**values, started=moment(row["started"] or None), folder=folder, line=line)

    def _tags(self, connection: sa.Connection, ids: Sequence[int]) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for start in range(0, len(ids), BATCH):
            rows = connection.execute(
                sa.select(TAGS.c.id, TAGS.c.tag)
                .where(TAGS.c.id.in_(ids[start : start + BATCH]))
                .order_by(TAGS.c.tag)
            )
            for key, tag in rows:
                found.setdefault(key, []).append(tag)
        return found


def _sum(rows: Iterable[Sequence[Any]], places: Sequence[int], by: Sequence[str]) -> list[Mapping[str, Any]]:
    """Rows that end in count, cost, time and known costs -> one for each combination of the columns at `places`."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        total = found.setdefault(tuple(row[at] for at in places), [0, None, None, 0])
        for at, value in enumerate(row[-4:]):
            if value is not None:
                total[at] = value + (total[at] or 0)
    names = ("runs", "cost_usd", "wall_s", "costs")
    ordered = sorted(found.items(), key=lambda one: tuple(str(part or "") for part in one[0]))
    return [
        {**dict(zip(by, key, strict=True)), **dict(zip(names, total, strict=True))} for key, total in ordered
    ]


def _fetch_all(result: sa.CursorResult[Any]) -> list[tuple[Any, ...]]:
    """Rows as the driver has them: a third of the time, for columns that need no conversion."""
    return list(result.cursor.fetchall()) if result.cursor is not None else []


def _to_json(line: Mapping[str, Any]) -> str | None:
    """None for what is no JSON, which no file of a run can hold."""
    try:
        return orjson.dumps(dict(line)).decode()
    except TypeError:
        return None


def _is_run(path: Path) -> bool:
    return (path / MANIFEST).exists() or (path / EVENTS).exists()


def _stamp(changed_ns: int) -> int:
    """The time of change of a folder; `UNSETTLED` where it may change again without a difference in time.

    That is so for a while after a change, and for a time in the future, which a clock that was set back leaves.
    """
    return changed_ns if time.time_ns() - changed_ns > SETTLED_NS else UNSETTLED
