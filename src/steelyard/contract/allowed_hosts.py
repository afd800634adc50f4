"""`host:port` as a contract writes it -> an allowed host, or why it cannot be one.

Programs find an allowed host by its name, which the sandbox looks up in its own hosts file. So the host is a name, in the one
spelling that programs ask for.
"""

from __future__ import annotations

import socket

from steelyard.deferred.pattern import deferred_pattern

MOST_HOSTS = 64
THIS_MACHINE = "host.internal"  # the only name by which an allowed host may be this machine
OWN_NAMES = frozenset({"sandbox"})  # of the sandbox itself, beside localhost
_LABEL = deferred_pattern(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_MOST_CHARS = 253
_LAST_PORT = 65535


def check_host(text: str) -> str:
    """Raises ValueError that says what to write instead."""
    host, _, port = text.rpartition(":")
    if not 1 <= int(port) <= _LAST_PORT or port.startswith("0"):
        raise ValueError(f"{port} is not a port (1 to {_LAST_PORT})")
    if "*" in host:
        raise ValueError(f"{host} has a wildcard; name each host")
    if not host.isascii():
        raise ValueError(f"write {host} in its ASCII form{_in_ascii(host)}")
    if host != host.lower():
        raise ValueError(f"write {host} in lower case: {host.lower()}:{port}")
    if _is_address(host):
        raise ValueError(f"{host} is an address; write the host's name")
    if host == "localhost" or host.endswith(".localhost") or host in OWN_NAMES:
        raise ValueError(f"{host} is the sandbox itself; for this machine write {THIS_MACHINE}:{port}")
    if len(host) > _MOST_CHARS or not all(_LABEL.fullmatch(label) for label in host.split(".")):
        raise ValueError(f"{host[:80]} is not a host name")
    return text


def check_hosts(allowed_hosts: tuple[str, ...]) -> tuple[str, ...]:
    if not allowed_hosts:
        raise ValueError("must not be empty; write `none`")
    for number, allowed_host in enumerate(allowed_hosts):
        if allowed_host in allowed_hosts[:number]:
            raise ValueError(f"{allowed_host} is listed twice")
    return allowed_hosts


def _is_address(host: str) -> bool:
    """As programs read it: `127.1` and `0x7f000001` are addresses too, and never looked up."""
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True


def _in_ascii(host: str) -> str:
    try:
        return f": {host.encode('idna').decode()}"
    except UnicodeError:
        return ""
