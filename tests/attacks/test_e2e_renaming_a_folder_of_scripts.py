"""The tested program cannot write the scripts of a check, so it renames the folder that they are in and makes one of its own.

Folders with such a script are mounts on the bench: nothing renames or removes them. Files in them come and go as before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from containers import in_docker

from authoring import Author, Steelyard

SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
FILES = {
    "hidden/first.sh": "sh add.sh 1 0 >/dev/null; true\n",
    "hidden/second.sh": '[ "$(sh add.sh 2 3)" = 5 ]\n',
}
CHECK = {
    "id": "check",
    "cmd": "sh tests/deep/first.sh && sh tests/deep/second.sh",
    "timeout_s": 30,
    "inject": [
        {"src": "hidden/first.sh", "dest": "tests/deep/first.sh"},
        {"src": "hidden/second.sh", "dest": "tests/deep/second.sh"},
    ],
}
RENAMES = {
    "folder": "mv tests/deep away; mkdir -p tests/deep; echo true > tests/deep/second.sh",
    "folder above": "mv tests away; mkdir -p tests/deep; echo true > tests/deep/second.sh",
    "exchange": "mkdir own; echo true > own/second.sh; mv --exchange own tests/deep; rm -r tests; mv own tests",
}


@pytest.fixture(params=["bubblewrap", "docker"])
def verdict_of(
    request: pytest.FixtureRequest, author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> Callable[[str], Any]:
    environment = {**SMALL, **(in_docker() if request.param == "docker" else {})}

    def run(program: str) -> Any:
        folder = author.write(FILES, oracle={"checks": [CHECK]}, environment=environment)
        agent = f"cat > add.sh <<'EOF'\n{program}\nEOF\n"
        return steelyard("run", folder, "--agent", script(agent), "--json").line["verdict"]

    return run


@pytest.mark.parametrize("rename", RENAMES.values(), ids=RENAMES)
def test_a_program_that_renames_a_folder_of_scripts_fails(
    verdict_of: Callable[[str], Any], rename: str
) -> None:
    assert verdict_of(f"({rename}) >/dev/null 2>&1; echo 0") == "fail"


def test_an_honest_program_that_moves_files_in_and_out_of_the_folder_passes(
    verdict_of: Callable[[str], Any],
) -> None:
    moves = "echo x > tests/deep/a && mv tests/deep/a tests/deep/b && mv tests/deep/b own && mv own tests/c && rm tests/c"
    assert verdict_of(f"{moves} && echo $(($1 + $2))") == "pass"
