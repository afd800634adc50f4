"""A study and a PostgreSQL store -> a lock across machines: one controller for each study.

The lock belongs to a connection. When the server restarts, the lock is gone with the connection, and `renew` takes it again,
however long the server was away; if another controller has it by then, this one has to stop. Without PostgreSQL there is one machine, and the lock of the study's
folder is enough.
"""

from __future__ import annotations

import time
from contextlib import suppress

import sqlalchemy as sa

from steelyard.errors import InfraFault, OperatorFault

WAIT_S = 60.0  # for a server that restarts
_HELD = "this study is being run by another process, on this store"


class StudyLock:
    """`take` before the study starts, `renew` now and then, `release` at its end."""

    def __init__(self, engine: sa.Engine, study: str) -> None:
        self._engine = engine
        self._key = int(study[:15], 16)  # 60 bits: PostgreSQL's keys are signed 64-bit numbers
        self._connection: sa.Connection | None = None
        self._is_taken = False  # since `take`, also while the server is away
        self._is_away = False  # it was waited for already

    def take(self) -> None:
        if self._engine.dialect.name != "postgresql":
            return
        self._connection = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        lock = sa.select(sa.func.pg_try_advisory_lock(self._key))
        if not self._connection.execute(lock).scalar():
            self._drop()
            raise OperatorFault(_HELD)
        self._is_taken, self._is_away = True, False

    def renew(self) -> None:
        """Raises OperatorFault when another controller has taken over, InfraFault when the server stays away."""
        if not self._is_taken:
            return
        if self._connection is not None:
            with suppress(sa.exc.DBAPIError):
                self._connection.execute(sa.select(1))
                return
        self._drop()
        deadline = time.monotonic() + (0.0 if self._is_away else WAIT_S)
        while True:
            try:
                self.take()
            except sa.exc.DBAPIError as error:
                self._drop()
                if time.monotonic() >= deadline:
                    self._is_away = True
                    raise InfraFault(f"the store does not answer any more: {error.orig}") from error
                time.sleep(0.5)
            else:
                return

    def release(self) -> None:
        if self._connection is not None:
            # The server sees the end of a connection a moment later, and would refuse a process that asks at once.
            with suppress(sa.exc.SQLAlchemyError):
                self._connection.execute(sa.select(sa.func.pg_advisory_unlock(self._key)))
        self._is_taken = False
        self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sa.exc.DBAPIError):
                connection.invalidate()  # closed, not pooled: the lock ends with it
            with suppress(sa.exc.DBAPIError):
                connection.close()
