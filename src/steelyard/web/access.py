"""Who may read: a secret token, known names of this server, and forms that this server wrote.

Other users of the machine can connect to 127.0.0.1 too, and a page of any site can send requests there:

    token    in the address that `view` prints; the browser then keeps it in a cookie (HttpOnly, SameSite=Strict)
    host     a request must name an address of this server, so a foreign name that resolves to 127.0.0.1 gets nothing
    forms    a POST needs the token of the form and must come from a page of this server
    headers  no script, style, frame or request from or to anywhere else; no page of another origin reads an answer
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
# A file of a run that is opened by itself: it may not even load what it contains.
FILE_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Nothing goes to other origins. `no-referrer` would make browsers send forms of this server with `Origin: null`.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class Access:
    """One server's rules. `address` is where it listens; `names` are further host names by which it may be asked."""

    port: int
    address: str = "127.0.0.1"
    names: tuple[str, ...] = ()
    log: Path | None = None  # gets a line for each request
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie(self) -> str:
        """Browsers send a cookie to every port of a host, so its name has the port."""
        return f"steelyard-{self.port}"

    @property
    def csrf(self) -> str:
        return hmac.new(self.token.encode(), b"form", hashlib.sha256).hexdigest()

    @property
    def home(self) -> str:
        """The address to print: a person who has it may read."""
        name = f"[{self.address}]" if ":" in self.address else self.address
        return f"http://{name}:{self.port}/?token={self.token}"

    def is_known_host(self, host: str) -> bool:
        """Whether the Host header names this server. An IP address is no foreign name, so a server for other machines takes any."""
        name, port = _split(host)
        if port not in (str(self.port), "" if self.port == 80 else str(self.port)):
            return False
        if name in self.names or name in _LOOPBACK_NAMES:
            return True
        return not self.is_local and (_is_address(name) or name == socket.gethostname().lower())

    @property
    def is_local(self) -> bool:
        return self.address == "localhost" or (
            _is_address(self.address) and ipaddress.ip_address(self.address.strip("[]")).is_loopback
        )

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self.token.encode())

    def refuse_post(self, headers: Mapping[str, str], form: Mapping[str, str]) -> str:
        """Why a POST is not from a form of this server, or nothing."""
        origin = headers.get("Origin")
        if origin is not None and not (
            origin.startswith("http://") and self.is_known_host(origin.removeprefix("http://"))
        ):
            return "this form was sent by a page of another site"
        if headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
            return "this form was sent by a page of another site"
        if not hmac.compare_digest(form.get("csrf", "").encode(errors="replace"), self.csrf.encode()):
            return "this form is of an earlier server; reload its page and send it again"
        return ""


def _split(host: str) -> tuple[str, str]:
    name, bracket, rest = host.lower().partition("]")
    if bracket:
        return f"{name}]", rest.removeprefix(":")
    name, _, port = host.lower().partition(":")
    return name, port


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
