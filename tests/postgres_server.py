"""A PostgreSQL server of a test's own: a data folder, a socket in it, no port; Debian's package provides the programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

ABSENT = "PostgreSQL is not installed (apt-get install postgresql)"
_USER = "postgres"  # the server refuses to run as root


def _program(name: str) -> str:
    newest = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(newest[-1]) if newest else shutil.which(name)
    if found is None:
        pytest.skip(ABSENT)
    return found


@dataclass(frozen=True)
class PostgresServer:
    folder: Path

    @property
    def url(self) -> str:
        return f"postgresql://{_USER}@/postgres?host={self.folder}"

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses= -c fsync=off -c max_connections=50"
        self._control("start", "-o", options, "-l", str(self.folder / "log"))

    def stop(self, mode: str = "immediate") -> None:
        self._control("stop", "-m", mode)

    def _control(self, *words: str) -> None:
        _run(_program("pg_ctl"), "-D", str(self.folder / "data"), "-w", "-t", "300", *words)


def _run(*words: str) -> None:
    user = {"user": _USER, "group": _USER, "extra_groups": []} if os.geteuid() == 0 else {}
    done = subprocess.run(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd="/",
        check=False,
        **user,
    )  # type: ignore[call-overload]
    assert done.returncode == 0, done.stderr


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    program = _program("initdb")
    # Not under pytest's folder: the path of a socket has at most 107 bytes, and another user must reach it.
    with tempfile.TemporaryDirectory(prefix="sy-pg-", dir="/tmp") as name:
        if os.geteuid() == 0:
            shutil.chown(name, _USER, _USER)
        Path(name).chmod(0o755)
        server = PostgresServer(Path(name))
        _run(
            program, "-D", f"{name}/data", "-U", _USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"
        )
        server.start()
        try:
            yield server
        finally:
            server.stop()
