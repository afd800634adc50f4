"""A new network namespace -> its loopback device, and addresses that do not answer.

Tests that want a connection to time out use an address that no host has. Without a route they would get an error at
once that the network is unreachable. So such addresses lead to the loopback device, which drops what is not for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import socket
import struct
from pathlib import Path

# The networks for documentation (RFC 5737), and the one that every recipe for such a test names.
SILENT = ("192.0.2.0", "198.51.100.0", "203.0.113.0", "10.255.255.0")  # and the 255 after each

_SIOCADDRT = 0x890B
_SIOCSIFFLAGS = 0x8914
_UP = 0x41  # IFF_UP | IFF_RUNNING
_ROUTE_UP = 0x1
_DEVICE = ctypes.create_string_buffer(b"lo")


def bring_up() -> None:
    """Needs to be root of the namespace; the sandbox's processes are not."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", _DEVICE.value, _UP))
        for network in SILENT:
            with contextlib.suppress(OSError):  # a kernel without it: the tests in question fail sooner
                fcntl.ioctl(any_socket, _SIOCADDRT, _route(network))


def free_low_ports() -> None:
    """Users without privileges may listen on 443 too: the port exists only in this namespace."""
    with contextlib.suppress(OSError):  # a read-only /proc: opening the listener reports the error
        Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").write_text("0")


def _route(network: str) -> bytes:
    """A `struct rtentry`: that network, by the device alone."""
    to, mask = _address(network), _address("255.255.255.0")
    device = ctypes.addressof(_DEVICE)
    return struct.pack("@L16s16s16sHhLPhPLLH", 0, to, b"", mask, _ROUTE_UP, 0, 0, 0, 0, device, 0, 0, 0)


def _address(text: str) -> bytes:
    return struct.pack("=HH4s", socket.AF_INET, 0, socket.inet_aton(text))
