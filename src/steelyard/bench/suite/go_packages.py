"""The name of a Go package -> its folder, and the name of a test in it -> the file that declares the test.

    example.com/shop/cart::TestAdd/by_2         go.mod: module example.com/shop         cart/cart_test.go

Reports of Go name packages and functions, no files. The module is the one that the oracle's tree declares, and the files are
the oracle's: what the candidate prints decides neither.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from functools import cached_property

from steelyard.deferred.data_class import dataclass
from steelyard.deferred.pattern import deferred_pattern

MAX_BYTES = 4 << 20
_MODULE = deferred_pattern(rb'(?m)^module\s+"?([^\s"]+)')
_FUNCTION = deferred_pattern(rb"(?m)^func\s+((?:Test|Fuzz|Example)\w*)\s*\(")

Read = Callable[[str], bytes | None]


@dataclass(frozen=True)
class GoPackages:
    """`read` gives the contents of a file of the oracle or of the snapshot."""

    files: tuple[str, ...] = ()  # the oracle's
    settings: tuple[str, ...] = ()  # go.mod files
    read: Read = lambda _path: None
    _found: dict[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, files: Iterable[str], tree: Iterable[str], read: Read) -> GoPackages:
        tests = tuple(sorted({path for path in files if path.endswith("_test.go")}))
        if not tests:
            return NO_PACKAGES
        settings = {path for path in (*tree, *files) if posixpath.basename(path) == "go.mod"}
        return cls(tests, tuple(sorted(settings)), read)

    def file_of(self, id_: str) -> str:
        """The file of a test, or "" where it is not known or not the only one."""
        package, found, name = id_.partition("::")
        folder = self._folder(package) if found and self.files else None
        return "" if folder is None else self._declared(folder).get(name.partition("/")[0], "")

    def _folder(self, package: str) -> str | None:
        for module, folder in self._modules:
            if package == module or package.startswith(f"{module}/"):
                return posixpath.join(folder, package[len(module) + 1 :]).rstrip("/")
        # The work adds the module, or names it: then by the end of the package's name.
        folders = {posixpath.dirname(path) for path in self.files}
        ends = [folder for folder in folders if not folder or f"/{package}".endswith(f"/{folder}")]
        return max(ends, key=len, default=None)

    @cached_property
    def _modules(self) -> list[tuple[str, str]]:
        """(module, folder), the longest name first; of one name, the place nearest to the root."""
        found: list[tuple[str, str]] = []
        for path in self.settings:
            match = _MODULE.search(self.read(path) or b"")
            if match is not None:
                found.append((match[1].decode(errors="replace"), posixpath.dirname(path)))
        return sorted(found, key=lambda one: (-len(one[0]), len(one[1])))

    def _declared(self, folder: str) -> Mapping[str, str]:
        """Test -> file, of one folder. A test that two files declare, each for another system, has none."""
        if folder not in self._found:
            declared: dict[str, str] = {}
            for path in self.files:
                if posixpath.dirname(path) == folder:
                    for name in set(_FUNCTION.findall(self.read(path) or b"")):
                        known = declared.get(name.decode())
                        declared[name.decode()] = path if known is None else ""
            self._found[folder] = declared
        return self._found[folder]


NO_PACKAGES = GoPackages()


def is_for_one_system(path: str, source: bytes) -> bool:
    """Whether a file is compiled on some systems or with some tags only."""
    head = re.split(rb"(?m)^package\s", source, maxsplit=1)[0]
    return bool(re.search(rb"(?m)^//\s*(go:build|\+build)\b", head)) or bool(_ONE_SYSTEM.search(path))


_ONE_SYSTEM = deferred_pattern(
    r"_(aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris|wasip1|windows|unix"
    r"|386|amd64|arm|arm64|loong64|mips|mips64|mips64le|mipsle|ppc64|ppc64le|riscv64|s390x|wasm)_test\.go$"
)
