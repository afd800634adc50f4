"""The cheats that every contract is tried with: scripts that run as an agent does, and solve nothing.

    cheats/NAME.sh      its head says what it does, and which files a repository must have:
                        # what: ends every program that imports the code with exit code 0
                        # needs: *.py

None is made for one contract: each is what an agent could do anywhere without understanding the task.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "cheats"


class Cheat(NamedTuple):
    name: str
    what: str
    needs: tuple[
        str, ...
    ]  # patterns of file names, one of which a repository must have; * also fits an empty one
    script: Path


def known_cheats() -> list[Cheat]:
    return [_cheat(path) for path in sorted(FOLDER.glob("*.sh"))]


def cheats_for(names: Iterable[str]) -> list[Cheat]:
    """Those that can do something in a repository with these files."""
    bases = {name.rsplit("/", 1)[-1] for name in names}
    return [
        one
        for one in known_cheats()
        if "*" in one.needs
        or any(fnmatch.fnmatchcase(base, pattern) for pattern in one.needs for base in bases)
    ]


def _cheat(path: Path) -> Cheat:
    head = dict(
        line.removeprefix("# ").split(": ", 1)
        for line in path.read_text().splitlines()
        if line.startswith(("# what: ", "# needs: "))
    )
    return Cheat(path.stem, head["what"], tuple(head["needs"].split()), path)
