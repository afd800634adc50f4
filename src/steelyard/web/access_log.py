"""Requests -> a log of who read what: one JSON line for each, appended before the answer is sent.

    {"at": "2026-03-07T12:00:00.123Z", "from": "127.0.0.1", "method": "GET", "path": "/run/.../diff", "status": 200}

The address is without its query, which may have the token. Style and scripts are not logged: they are the same for everyone.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import orjson

from steelyard.errors import InfraFault, OperatorFault

LONGEST = 2000  # characters of a path


def open_log(path: Path) -> None:
    """Raises OperatorFault where no line could be written."""
    try:
        os.close(_open(path))
    except OSError as error:
        raise OperatorFault(f"--access-log {path}: {error.strerror}") from error


def log_request(path: Path, remote: str, method: str, target: str, status: int) -> None:
    """Raises InfraFault where the line cannot be written: what cannot be logged is not shown."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    line = {"at": at, "from": remote, "method": method, "path": target[:LONGEST], "status": status}
    data = orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
    try:
        descriptor = _open(path)
        try:
            if os.write(descriptor, data) != len(data):
                raise InfraFault("the access log has no room")
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InfraFault(f"the access log cannot be written: {error.strerror}") from error


def _open(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
