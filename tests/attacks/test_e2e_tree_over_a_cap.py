"""`grade --tree`: a folder that is over a cap, or holds what cannot be carried, hides nothing by it."""

from __future__ import annotations

import os
from pathlib import Path

from e2e_stage import House, failed, stage

house, line = stage(
    {"environment": {"memory_mb": {"guaranteed": 64, "limit": 1024}, "disk_mb": 1024, "processes": 64}}
)


def test_a_file_over_the_cap_is_the_folders_failure(house: House, tmp_path: Path) -> None:
    tree = house.copied_repository(tmp_path / "tree")
    with (tree / "huge").open("wb") as file:
        file.truncate(300 << 20)
    assert failed(house.graded("--tree", tree), "patch", "larger than the import allows")


def test_a_frozen_test_edited_behind_a_hundred_thousand_files(house: House, tmp_path: Path) -> None:
    tree = house.copied_repository(tmp_path / "tree")
    (tree / "add.sh").write_text("echo $(($1 + $2))\n")
    (tree / "tests/guard.sh").write_text("true\n")
    for folder in range(101):
        (tree / "lib" / str(folder)).mkdir()
        for number in range(1000):
            os.mknod(f"{tree}/lib/{folder}/{number}")
    result = house.graded("--tree", tree)
    assert failed(result, "safety"), result["verdict"]
