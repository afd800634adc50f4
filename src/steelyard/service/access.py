"""A request -> whether it may be answered.

On loopback and on a socket every process of this user may ask; a browser may not, and neither may a page that a browser shows: the
Host must name this machine (a foreign name that resolves to 127.0.0.1 does not), there is no Origin, and the body is
`application/json`, which a form cannot send. Anywhere else each request needs the token.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})
SHORTEST_TOKEN = 16


class Refusal(NamedTuple):
    status: int
    why: str


@dataclass(frozen=True)
class Access:
    """`token` is needed wherever it is set; `is_local` is a loopback address or a socket."""

    is_local: bool
    token: str = ""

    def refuse(self, headers: Mapping[str, str], *, has_body: bool) -> Refusal | None:
        if "Origin" in headers:
            return Refusal(403, "requests of web pages are not answered")
        if self.is_local and _host(headers.get("Host", "")) not in LOCAL:
            return Refusal(403, "the Host of the request is not this machine")
        if self.token:
            given = headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode(errors="replace"), f"Bearer {self.token}".encode()):
                return Refusal(401, "the token is missing or wrong: Authorization: Bearer TOKEN")
        if (
            has_body
            and headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json"
        ):
            return Refusal(415, "the body is application/json")
        return None


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host(value: str) -> str:
    """Without the port; an address of IPv6 keeps its brackets."""
    if value.startswith("["):
        return value.partition("]")[0] + "]"
    return value.partition(":")[0].lower()
