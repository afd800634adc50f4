"""What a client is made of: packages of a registry, their pinned versions, and the runtime that it needs."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import Literal

Registry = Literal["npm", "pypi"]
Runtime = Literal["native", "node", "python"]

# The npm name of a Node.js binary for this machine: a package without install scripts.
NODE_VERSION = "22.23.3"
_MACHINES = {"x86_64": "x64", "aarch64": "arm64"}


def machine() -> str:
    """As npm packages name this machine's processor."""
    return _MACHINES.get(platform.machine(), platform.machine())


@dataclass(frozen=True, slots=True)
class Package:
    """One client in a registry. `version` is the one that the adapter was tried with, and what `install` takes."""

    registry: Registry
    name: str
    version: str
    runtime: Runtime
    program: str  # inside the installed folder; {machine} is the processor, {triple} its target
    extra: tuple[str, ...] = ()  # further requirements, pinned
    built: tuple[
        str, ...
    ] = ()  # packages of PyPI without a wheel, which are built on this machine; pinned in `extra`
    python: str = ""  # the version that it needs; empty: the one that runs Steelyard
    is_static: bool = False  # a native program that needs no C library of the system

    @property
    def program_path(self) -> str:
        return self.program.format(machine=machine(), triple=f"{platform.machine()}-unknown-linux-musl")

    @property
    def start_path(self) -> str:
        """What starts it in a sandbox: a dynamically linked native program is started by a script of the installer."""
        name = self.program_path.rpartition("/")[2]
        return self.program_path if self.runtime != "native" or self.is_static else f"runtime/bin/{name}"
