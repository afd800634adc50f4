"""The name of a Rust test program -> the file of its tests.

    shop/acceptance::inner::adds        Cargo.toml: name = "shop"       tests/acceptance.rs

Only integration tests have a file of their own: tests in `src/` are in files of the product.
"""

from __future__ import annotations

import posixpath
import tomllib
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from steelyard.deferred.data_class import dataclass

Read = Callable[[str], bytes | None]


@dataclass(frozen=True)
class CargoTargets:
    """`read` gives the contents of a file of the oracle or of the snapshot."""

    files: frozenset[str] = frozenset()  # the oracle's
    settings: tuple[str, ...] = ()  # Cargo.toml files
    read: Read = lambda _path: None

    @classmethod
    def of(cls, files: Iterable[str], tree: Iterable[str], read: Read) -> CargoTargets:
        tests = frozenset(path for path in files if path.endswith(".rs"))
        if not tests:
            return NO_TARGETS
        settings = {path for path in (*tree, *files) if posixpath.basename(path) == "Cargo.toml"}
        return cls(tests, tuple(sorted(settings)), read)

    def file_of(self, id_: str) -> str:
        """The file of a test, or "" where it is not known."""
        target, found, _ = id_.partition("::")
        return self._by_target.get(target, "") if found else ""

    @cached_property
    def _by_target(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in self.settings:
            settings = _parsed(self.read(path) or b"")
            folder, name = posixpath.dirname(path), settings.get("package", {}).get("name")
            if not isinstance(name, str):
                continue
            for test in sorted(self.files):
                stem = _target(posixpath.relpath(test, folder or "."))
                if stem:
                    found.setdefault(f"{name}/{stem}", test)
            for one in settings.get("test", []):
                place = posixpath.normpath(posixpath.join(folder, str(one.get("path", ""))))
                if place in self.files and isinstance(one.get("name"), str):
                    found[f"{name}/{one['name'].replace('-', '_')}"] = place
        return found


NO_TARGETS = CargoTargets()


def _target(path: str) -> str:
    """`tests/NAME.rs` and `tests/NAME/main.rs` are programs of their own."""
    parts = path.split("/")
    if parts[0] != "tests" or len(parts) not in {2, 3} or (len(parts) == 3 and parts[2] != "main.rs"):
        return ""
    return parts[1].removesuffix(".rs").replace("-", "_")


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        found = tomllib.loads(text.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError):
        return {}
    package, tests = found.get("package"), found.get("test")
    return {
        "package": package if isinstance(package, dict) else {},
        "test": [one for one in tests if isinstance(one, dict)] if isinstance(tests, list) else [],
    }
