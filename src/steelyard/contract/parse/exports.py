"""`exports` of a contract -> problems: globs of absolute paths that count as work though they lie in the system's places.

/etc/nginx/**, /usr/local/bin/greet, /var/lib/mysql/*     fine
/etc/**, /usr/*, /root/.*                                 would carry what every program reads
/tests/x, /dev/shm/x                                      the verifier's, and the kernel's: never carried
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import Any

from steelyard.contract.parse.yaml_source import YamlPath
from steelyard.deferred.pattern import deferred_pattern
from steelyard.filesystem.tree import is_within

NEVER = (
    "/tests",
    "/logs",
    "/solution",
    "/solutions",
    "/dev",
    "/proc",
    "/sys",
    "/run/steelyard",
    "/opt/steelyard",
)
# Folders that directly contain settings, libraries or programs of all users.
BROAD = (
    *("/etc", "/root", "/home", "/var", "/var/lib", "/run", "/lib", "/lib64", "/bin", "/sbin", "/opt"),
    *("/usr", "/usr/lib", "/usr/lib64", "/usr/bin", "/usr/sbin", "/usr/share", "/usr/local/lib", "/usr/local/share"),
)  # fmt: skip
_WILD = deferred_pattern(r"[*?\[]")


def export_problems(data: dict[str, Any], *, is_system: bool) -> Iterator[tuple[YamlPath, str, str]]:
    given = data.get("exports")
    if given and not is_system:
        yield ("exports",), "not supported yet", "only with `scope: system`"
        return
    for number, pattern in enumerate(given if isinstance(given, list) else ()):
        problem = _wrong(pattern) if isinstance(pattern, str) else None
        if problem is not None:
            yield ("exports", number), *problem


def _wrong(pattern: str) -> tuple[str, str] | None:
    if not pattern.startswith("/") or any(part in {"", ".", ".."} for part in pattern.split("/")[1:]):
        return "is not an absolute path", "like /etc/nginx/**"
    literal = _WILD.split(pattern)[0]
    if any(is_within(pattern, place) for place in NEVER):
        return "belongs to the verifier or the kernel and never reaches the bench", "leave it out"
    folder = posixpath.dirname(literal)
    if literal != pattern and any(is_within(place, folder.rstrip("/")) for place in BROAD):
        return "would transfer files that every program reads", "a narrower folder, like /etc/nginx/**"
    return None
