"""A sandbox's init -> it watches the system calls of what it runs, where this machine can.

    why_not_watched()    found once, by the init program itself
    start_watching()     after init's first words and before any command
    count_attempts()     at the end: how often each call was tried

A sandbox whose init can load no filter at all is not used: the filter of the engine or of bubblewrap leaves the refusal to init.
"""

from __future__ import annotations

import functools
import os
import struct
from contextlib import suppress
from dataclasses import replace

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Facts
from steelyard.sandboxes.init import frames
from steelyard.sandboxes.init.attempts import SEEN, OnAttempt, unpack_attempt
from steelyard.sandboxes.init.binary import init_binary
from steelyard.sandboxes.init.wire import Wire
from steelyard.sandboxes.seccomp import watched_calls_here

_ANSWER_S = 30.0


@functools.cache
def why_not_watched() -> str:
    """Why this machine gives no listener for system calls; empty where it does."""
    binary = str(init_binary())
    pid = os.posix_spawn(binary, [binary, "probe"], {})
    _, status = os.waitpid(pid, 0)
    error = os.waitstatus_to_exitcode(status)
    return f"the kernel gives no seccomp listener: {os.strerror(error)}" if error else ""


def with_evidence(facts: Facts, *, is_asked: bool, why_not: str | None = None) -> Facts:
    """The same facts with what is seen of refused system calls."""
    if not is_asked:
        return facts
    why = why_not_watched() if why_not is None else why_not
    return replace(facts, kernel_evidence=() if why else SEEN, no_kernel_evidence=why)


def start_watching(wire: Wire, on_attempt: OnAttempt, timeout_s: float = _ANSWER_S) -> str:
    """Why init could not, or nothing. Raises InfraFault where the sandbox would be without its filter."""
    table = watched_calls_here()
    names = {call.number: call.name for call in table.calls}

    def take(payload: bytes) -> None:
        with suppress(struct.error, InfraFault):  # the run itself reports a log that cannot be written
            on_attempt(unpack_attempt(payload, names))

    wire.on_attempt = take
    answer = wire.ask(b"W", table.payload(), timeout_s)
    if answer is None:
        raise InfraFault("init did not load its system call filter; run `steelyard doctor`")
    listener, plain = frames.unpack_watching(answer)
    if listener and plain:
        raise InfraFault(f"init cannot load its system call filter: {os.strerror(plain)}")
    return f"the kernel gives no seccomp listener: {os.strerror(listener)}" if listener else ""


def count_attempts(wire: Wire, timeout_s: float = _ANSWER_S) -> dict[str, int]:
    """Call -> how often, of those that were tried at all."""
    answer = None if wire.gone else wire.ask(b"n", b"", timeout_s)
    counts = frames.unpack_sizes(answer) if answer else []
    return {
        call.name: count for call, count in zip(watched_calls_here().calls, counts, strict=False) if count
    }
