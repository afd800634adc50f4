"""A package of a registry -> a folder of the cache, which is mounted read-only into the sandbox of an agent.

    <cache>/agents/<client>==<version>/
        installed.json    client, version, registry, every package with its checksum, when, by which runtime
        node_modules/     of npm; install scripts are not run
        runtime/          node or python with the libraries that it needs (`runtime.py`)

The folder belongs to the cache, so its bytes are checked before each use. It is no part of a contract: a contract's
digest does not change with the agent.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from steelyard.agents.installation.package import NODE_VERSION, Package, machine
from steelyard.agents.installation.runtime import copy_python, find_python, wrap_native, wrap_node
from steelyard.errors import InfraFault, OperatorFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.tree import printable

KIND = "agents"
RECORD = "installed.json"
LATEST = "latest"
LONGEST_S = 1800.0
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+-]{0,60}")
_LAST_CHARS = 1500  # of what a package manager printed, in a message
_CONSTRAINTS = Path(__file__).parent / "constraints"


def install(client: str, package: Package, version: str, note: Callable[[str], None]) -> Path:
    """The folder of the client at that version, installed if it is not there yet. `latest` asks the registry.

    `note` is called with what takes minutes.
    """
    version = version or package.version
    if version == LATEST:
        version = _latest(package)
    if not _VERSION.fullmatch(version):
        raise OperatorFault(
            f"{printable(version)} is not a version of {client}; write {client}=={package.version}"
        )

    def build(folder: Path) -> None:
        note(f"installing {client} {version} from {package.registry}; this can take minutes")
        packages = (
            _npm(folder, package, version) if package.registry == "npm" else _pypi(folder, package, version)
        )
        if not (folder / package.program_path).exists():
            raise InfraFault(
                f"{package.name} {version} has no {package.program_path} for this machine ({machine()})"
            )
        if package.start_path != package.program_path:
            wrap_native(folder, package.program_path)
        record = {
            "schema": "steelyard.agent/1",
            "client": client,
            "version": version,
            "registry": package.registry,
            "package": package.name,
            "packages": packages,
            "runtime": package.runtime,
            "program": package.program_path,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True))
        _let_others_read(folder)

    return Cache.default().build(KIND, key_of(client, version), build)


def key_of(client: str, version: str) -> str:
    return f"{client}-{version}".replace("+", "_")


def _npm(folder: Path, package: Package, version: str) -> dict[str, str]:
    """Name and version -> the registry's checksum, which npm compared with what it received."""
    wanted = [f"{package.name}@{version}", *package.extra]
    if package.runtime == "node":
        wanted.append(f"node-linux-{machine()}@{NODE_VERSION}")
    npm = _program("npm", "install Node.js with npm on this machine; the sandbox needs neither")
    (folder / "package.json").write_text('{"private": true}')
    quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts", "--omit=dev"]
    _run([npm, "install", "--prefix", str(folder), *quiet, *wanted], package.name)
    if package.runtime == "node":
        wrap_node(folder, folder / "node_modules" / f"node-linux-{machine()}" / "bin" / "node")
        shutil.rmtree(folder / "node_modules" / f"node-linux-{machine()}")
    lock = json.loads((folder / "node_modules" / ".package-lock.json").read_text())
    found: Mapping[str, Any] = lock.get("packages", {})
    return {
        f"{path.rpartition('node_modules/')[2]}@{one.get('version')}": str(one.get("integrity", ""))
        for path, one in sorted(found.items())
    }


def _pypi(folder: Path, package: Package, version: str) -> dict[str, str]:
    """Name and version -> the SHA-256 of the file that was installed."""
    python = find_python(package.python)
    packages = copy_python(folder, python)
    report = folder / "report.json"
    line = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    line += ["--only-binary=:all:", *(f"--no-binary={name}" for name in package.built)]
    line += ["--target", str(packages), "--report", str(report)]
    # pip finds versions that fit together by trying; for OpenHands it downloads hundreds and comes to no end.
    pinned = _CONSTRAINTS / f"{package.name}-{version}.txt"
    line += ["--constraint", str(pinned)] if pinned.is_file() else []
    _run([*line, f"{package.name}=={version}", *package.extra], package.name)
    installed = json.loads(report.read_text())["install"]
    report.unlink()
    return {
        f"{one['metadata']['name']}@{one['metadata']['version']}": "sha256:"
        + str(one.get("download_info", {}).get("archive_info", {}).get("hashes", {}).get("sha256", ""))
        for one in installed
    }


def _latest(package: Package) -> str:
    if package.registry == "npm":
        npm = _program("npm", "install Node.js with npm on this machine")
        return _run([npm, "view", package.name, "version", "--loglevel=error"], package.name).strip()
    text = _run([find_python(package.python), "-m", "pip", "index", "versions", package.name], package.name)
    found = re.search(r"\(([^)]+)\)", text)
    if found is None:
        raise InfraFault(f"the registry names no version of {package.name}")
    return found[1]


def _program(name: str, fix: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise InfraFault(f"{name} is not on this machine: {fix}")
    return found


def _run(line: Sequence[str], name: str) -> str:
    try:
        done = subprocess.run(
            list(line), capture_output=True, text=True, errors="replace", timeout=LONGEST_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfraFault(f"{name} could not be installed: {error}") from error
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip()[-_LAST_CHARS:]
        raise InfraFault(f"{name} could not be installed:\n{output}")
    return done.stdout


def _let_others_read(folder: Path) -> None:
    """The agent's user in a sandbox is not the one that installed."""
    for parent, _, names in os.walk(folder):
        os.chmod(parent, 0o755)  # noqa: PTH101, S103  # thousands of paths, of published packages
        for name in names:
            path = f"{parent}/{name}"
            if not os.path.islink(path):  # noqa: PTH114
                mode = os.stat(path).st_mode  # noqa: PTH116
                os.chmod(path, (mode | 0o444 | (0o111 if mode & 0o100 else 0)) & 0o755)  # noqa: PTH101
