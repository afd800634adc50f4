"""Verifiers of a contract -> the lines of their scripts that would fetch something: nothing has a network when it is graded.

    apt-get install -y curl        pip install pytest==8.4        curl -LsSf https://... | sh        uvx pytest

Only what the words tell; a warning, since what is there already is not fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from steelyard.contract.contract import Contract
from steelyard.contract.execution_spec import ScriptSpec
from steelyard.errors import Problem

MAX_BYTES = 1 << 20
_FETCHES = re.compile(
    rb"(?:^|[\s;&|(`])((?:apt|apt-get|apk|dnf|yum|npm|pip|pip3|cargo|gem|uv\s+pip|uv\s+tool)\s+(?:-\S+\s+)*(?:install|update|add|ci)"
    rb"|curl|wget|uvx|uv\s+run|uv\s+sync|git\s+clone|npx)(?=\s|$)"
)
_STAYS_HERE = re.compile(rb"--no-index|--offline|localhost|127\.0\.0\.1|--version|file://|--no-install")
FIX = "install it in the image or in `setup`, or add its host to `oracle.network`"


def fetching_verifiers(contract: Contract) -> list[Problem]:
    if contract.spec.oracle.network != "none":
        return []  # which hosts it needs is known only when it runs
    specs = [entry.execution for entry in (*contract.checks, *contract.graders)]
    scripts = {spec.script for spec in specs if isinstance(spec, ScriptSpec)}
    return [problem for script in sorted(scripts) for problem in _script_problems(contract, script)]


def _script_problems(contract: Contract, script: str) -> Iterator[Problem]:
    """The first line of each file; the others need what it needs."""
    for name, file in sorted(contract.files_beside(script).items()):
        if not name.endswith((".sh", ".bash")) or file.mode == "link" or file.path.stat().st_size > MAX_BYTES:
            continue
        for number, line in enumerate(file.path.read_bytes().split(b"\n"), 1):
            found = _FETCHES.search(line.partition(b"#")[0])
            if found and not _STAYS_HERE.search(line):
                what = " ".join(found[1].decode().split())
                message = f"`{what}` needs a network, and a verifier has none"
                yield Problem(f"{file.path}:{number}", "", message, FIX)
                break
