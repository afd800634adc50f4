"""A door -> a connection to the host behind it, made from this machine.

`host.internal` is this machine's own loopback. No other name leads there: a name is whatever its owner says that it
is today, and a service of this machine that listens for itself only, or the metadata of a cloud, is nobody's to name.
"""

from __future__ import annotations

import errno
import ipaddress
import socket

from steelyard.contract.door_names import THIS_MACHINE
from steelyard.sandboxes.base import Door

_PATIENCE_S = 10.0  # for one address
_MOST_ADDRESSES = 4


def connect(door: Door) -> socket.socket:
    """Raises OSError that says why there is none."""
    last: OSError = OSError(errno.EHOSTUNREACH, f"{door.host} has no address")
    for address in _addresses(door)[:_MOST_ADDRESSES]:
        try:
            made = socket.create_connection((address, door.port), _PATIENCE_S)
        except TimeoutError:
            last = OSError(errno.ETIMEDOUT, "connection timed out")
        except OSError as error:
            last = error
        else:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise last


def _addresses(door: Door) -> list[str]:
    if door.host == THIS_MACHINE:
        return ["127.0.0.1", "::1"]
    try:
        found = socket.getaddrinfo(door.host, door.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OSError(errno.EHOSTUNREACH, f"{door.host} is not known: {error}") from error
    every = list(dict.fromkeys(str(one[4][0]) for one in found))
    allowed = [address for address in every if is_elsewhere(address)]
    if every and not allowed:
        raise OSError(
            errno.EACCES, f"{door.host} is {every[0]}, which no name but {THIS_MACHINE} may lead to"
        )
    return allowed


def is_elsewhere(address: str) -> bool:
    """No address that only this machine, or only its own link, means something by."""
    parsed = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped:
        parsed = parsed.ipv4_mapped
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast)
