"""An allowed host -> a connection to it, made from this machine.

`host.internal` is this machine's own loopback. No other name leads to this machine, by whichever of its addresses: a name
is whatever its owner says that it is today, and a service of this machine, or the metadata of a cloud, may not be reached by naming it.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from ipaddress import IPv4Address, IPv6Address

from steelyard.contract.allowed_hosts import THIS_MACHINE
from steelyard.sandboxes.base import AllowedHost

_PATIENCE_S = 10.0  # for one address
_MOST_ADDRESSES = 4
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")  # NAT64: the end of it is the address that is reached
# Where clouds keep theirs, beside 169.254.169.254.
_METADATA = frozenset({"fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192"})


def connect(allowed_host: AllowedHost, patience_s: float = _PATIENCE_S) -> socket.socket:
    """Raises OSError that says why there is none."""
    last: OSError = OSError(errno.EHOSTUNREACH, f"{allowed_host.host} has no address")
    for address in _addresses(allowed_host)[:_MOST_ADDRESSES]:
        try:
            made = socket.create_connection((address, allowed_host.port), patience_s)
        except TimeoutError:
            last = OSError(errno.ETIMEDOUT, "connection timed out")
        except OSError as error:
            last = error
        else:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return made
    raise last


def _addresses(allowed_host: AllowedHost) -> list[str]:
    if allowed_host.host == THIS_MACHINE:
        return ["127.0.0.1", "::1"]
    try:
        found = socket.getaddrinfo(allowed_host.host, allowed_host.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OSError(errno.EHOSTUNREACH, f"{allowed_host.host} cannot be resolved: {error}") from error
    every = list(dict.fromkeys(str(one[4][0]) for one in found))
    allowed = [address for address in every if is_elsewhere(address)]
    if every and not allowed:
        raise OSError(
            errno.EACCES, f"{allowed_host.host} resolves to {every[0]}, which only {THIS_MACHINE} may"
        )
    return allowed


def is_elsewhere(address: str) -> bool:
    """No address of this machine, none that only its own link means something by, none where a cloud tells secrets."""
    parsed = _embedded_address(ipaddress.ip_address(address.partition("%")[0]))
    near = parsed.is_loopback or parsed.is_link_local or parsed.is_unspecified or parsed.is_multicast
    return not (near or str(parsed) in _METADATA or _is_own(str(parsed)))


def _embedded_address(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """What a translator on the way would make of it."""
    if isinstance(address, IPv4Address):
        return address
    if address in _TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_own(address: str) -> bool:
    """Only an address of this machine can be bound to."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except OSError:
        return False
    return True
