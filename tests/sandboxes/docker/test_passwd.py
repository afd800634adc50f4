"""Users of an image, as its own /etc/passwd has them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.sandboxes.base import FileOverlay, Mount, SandboxSpec
from steelyard.sandboxes.docker.passwd import MOST_BYTES, ROOT, Person, person
from steelyard.sandboxes.docker.proc_root import Reach

USERS = (
    "root:x:0:0:root:/root:/bin/sh\nann:x:1000:100:Ann:/home/ann:/bin/sh\nodd:x:y:z::/:\nhomeless:x:7:7:::\n"
)


def found(top: Path, user: str) -> Person:
    root = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return person(root, user)
    finally:
        os.close(root)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_text(USERS)
    return tmp_path


@pytest.mark.parametrize(
    ("user", "who"),
    [
        ("", ROOT),
        ("0", ROOT),
        ("ann", Person("ann", 1000, 100, "/home/ann")),
        ("1000", Person("ann", 1000, 100, "/home/ann")),
        ("ann:staff", Person("ann", 1000, 100, "/home/ann")),
        ("1234", Person("1234", 1234, 0, "/")),
        ("homeless", Person("homeless", 7, 7, "/")),
        ("odd", Person("odd", 0, 0, "/")),
    ],
)
def test_a_user_is_found_by_name_or_number(system: Path, user: str, who: Person) -> None:
    assert found(system, user) == who


def test_a_list_of_users_that_is_no_file_says_nothing(system: Path) -> None:
    (system / "etc/passwd").unlink()
    (system / "etc/passwd").symlink_to("/etc/passwd")
    assert found(system, "root2") == Person("root2", 0, 0, "/")
    (system / "etc/passwd").unlink()
    os.mkfifo(system / "etc/passwd")
    assert found(system, "7") == Person("7", 7, 0, "/")


@given(st.binary(max_size=200), st.from_regex(r"[A-Za-z0-9_]{1,8}", fullmatch=True))
def test_any_bytes_make_a_person(tmp_path_factory: pytest.TempPathFactory, raw: bytes, user: str) -> None:
    top = tmp_path_factory.mktemp("system", numbered=True)
    (top / "etc").mkdir()
    (top / "etc/passwd").write_bytes(raw + b"x" * (MOST_BYTES if raw[:1] == b"\0" else 0))
    who = found(top, user)
    assert who.uid >= 0
    assert who.home


@pytest.mark.skipif(os.geteuid() != 0, reason="files are given to others")
def test_a_list_of_users_that_is_laid_makes_nobody_another(system: Path, tmp_path: Path) -> None:
    """An agent's may say that the verifier's user is somebody else, who lives where the agent wrote."""
    forged = tmp_path / "forged"
    forged.write_text("ann:x:4294967299:0::/app/forged:/bin/sh\n")
    root = os.open(system, os.O_RDONLY | os.O_DIRECTORY)
    try:
        reach = Reach(-1, root, root, root, [], -1)
        overlays, extra_mounts = (FileOverlay("etc/passwd", "file", source=forged),), (Mount("/logs", ()),)
        reach.write_files(
            SandboxSpec(layers=(), overlays=overlays, extra_mounts=extra_mounts, scope="system", user="ann"),
            (),
        )
        assert reach.person("ann").home == "/home/ann"
    finally:
        os.close(root)
    assert (system / "etc/passwd").read_text() == forged.read_text()
    assert (system / "logs").stat().st_uid == 1000
