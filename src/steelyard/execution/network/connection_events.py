"""Connections to the allowed hosts of a sandbox -> events of the run."""

from __future__ import annotations

import time
from typing import Literal

from steelyard.evidence.trace.events import EventLog
from steelyard.sandboxes.base import Connection, OnConnection


def connection_log(events: EventLog, by: Literal["agent", "check"]) -> OnConnection:
    """Logs each of the first thousand connections as it ends, and counts the later ones together."""

    def log_connection(one: Connection) -> None:
        opened = events.now() - (time.monotonic_ns() - one.opened)  # on the clock of the log
        events.append(
            "network.connection",
            "harness",
            {
                "by": by,
                "to": one.to,
                "opened": max(opened, 0),
                "out_bytes": one.out_bytes,
                "in_bytes": one.in_bytes,
                "failed": one.failed,
                "count": one.count,
                "refused": one.refused,
            },
        )

    return log_connection
