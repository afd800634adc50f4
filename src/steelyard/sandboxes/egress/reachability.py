"""Allowed hosts -> those that do not answer, tried from this machine and from no sandbox."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable

from steelyard.sandboxes.base import AllowedHost
from steelyard.sandboxes.egress import connect

PATIENCE_S = 5.0  # for one address
TOGETHER_S = 15.0  # for names that are looked up, and several addresses
FRESH_S = 5.0  # so long a host that answered counts as there

_there: dict[AllowedHost, float] = {}  # when it last answered


def unreachable(allowed_hosts: Iterable[AllowedHost]) -> dict[AllowedHost, str]:
    """Host -> why it does not answer. All are tried at once; a failure is never remembered."""
    wanted = [
        allowed_host
        for allowed_host in dict.fromkeys(allowed_hosts)
        if time.monotonic() - _there.get(allowed_host, -FRESH_S) >= FRESH_S
    ]
    failed: dict[AllowedHost, str] = {}
    threads = [
        threading.Thread(target=_try, args=(allowed_host, failed), daemon=True) for allowed_host in wanted
    ]
    ends = time.monotonic() + TOGETHER_S
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, ends - time.monotonic()))
    late = {allowed_host for allowed_host, thread in zip(wanted, threads, strict=True) if thread.is_alive()}
    return {
        allowed_host: "no answer" if allowed_host in late else failed[allowed_host]
        for allowed_host in wanted
        if allowed_host in late or allowed_host in failed
    }


def _try(allowed_host: AllowedHost, failed: dict[AllowedHost, str]) -> None:
    try:
        connect.connect(allowed_host, PATIENCE_S).close()
    except OSError as error:
        failed[allowed_host] = error.strerror or str(error)
    else:
        _there[allowed_host] = time.monotonic()
