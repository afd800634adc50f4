"""What an agent that is root may change: its work is carried to the bench, what grades it is the image's own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.system_change import SystemChange, SystemPolicy
from steelyard.contract.tree import Entry
from steelyard.evidence.blobs import Blobs
from steelyard.evidence.change import ChangeEntry

HAS = frozenset({"python3", "cat", "ls"})
FILE = Entry("file", "644", 1, "")


@pytest.fixture
def policy(tmp_path: Path) -> SystemPolicy:
    (tmp_path / "blobs").mkdir()
    path = ["usr/local/bin", "usr/bin", "opt/tool/bin"]
    return SystemPolicy(path, "app", "Write calendar.py.", HAS.__contains__, Blobs(tmp_path / "blobs"))


def added(policy: SystemPolicy, path: str, text: str = "x", *, over: bool = False) -> ChangeEntry:
    stored = policy.blobs.put_bytes(text.encode())
    new = Entry("file", "755", stored.size, stored.sha256)
    return ChangeEntry(path, FILE if over else None, new)


def split(policy: SystemPolicy, *entries: ChangeEntry) -> SystemChange:
    return policy.split(entries)


CARRIED = [
    "app/out.txt",
    "app/pkg/json.py",
    "app/calendar.py",
    "app/conftest.py",
    "app/venv/pyvenv.cfg",
    "usr/local/bin/greet",
    "usr/local/lib/python3.11/site-packages/numpy/__init__.py",
    "usr/lib/x86_64-linux-gnu/libnew.so",
    "etc/nginx/nginx.conf",
    "etc/passwd",
    "root/.ssh/id",
    "root/.gitconfig",
    "home/ann/notes",
    "tmp/result",
    "var/lib/data",
    "srv/repo/.git/HEAD",
    "tests2/x",
    "logs.txt",
]


@pytest.mark.parametrize("path", CARRIED)
def test_work_is_carried(policy: SystemPolicy, path: str) -> None:
    found = split(policy, added(policy, path))
    assert [(one.path, one.kind, one.mode) for one in found.laid] == [(path, "file", "755")]
    assert found.findings == ()


LEFT = {
    "tests/test.sh": "at_hidden_place",
    "logs/verifier/reward.txt": "at_hidden_place",
    "opt/steelyard/steelyard/rubric.py": "at_hidden_place",
    "root/.bashrc": "start_up_changed",
    "home/ann/.profile": "start_up_changed",
    "etc/profile.d/x.sh": "start_up_changed",
    "etc/ld.so.preload": "start_up_changed",
    "usr/lib/python3/dist-packages/sitecustomize.py": "start_up_changed",
    "root/.config/pip/pip.conf": "steers_runner",
    "root/.cache/uv/archive/x": "steers_runner",
    "pytest.ini": "steers_runner",
    "usr/local/lib/python3.11/site-packages/_pytest/main.py": "steers_runner",
    "app/json.py": "steers_runner",
    "app/unittest/__init__.py": "steers_runner",
    "usr/local/bin/cat": "system_shadowed",
    "usr/local/bin/pytest": "system_shadowed",
    "opt/tool/bin/ls": "system_shadowed",
    "root/.local/bin/uvx": "system_shadowed",
    "usr/bin/pyvenv.cfg": "system_shadowed",
    "usr/pyvenv.cfg": "system_shadowed",
    "usr/lib/python3.11/json/__init__.py": "system_changed",
    "dev/shm/x": "system_changed",
}


@pytest.mark.parametrize("path", LEFT)
def test_what_grades_is_the_images_own_and_that_is_told(policy: SystemPolicy, path: str) -> None:
    found = split(policy, added(policy, path))
    assert found.laid == ()
    assert [(one.id, one.where) for one in found.findings] == [(LEFT[path], f"/{path}")]


@pytest.mark.parametrize(
    "path", ["usr/bin/python3", "usr/sbin/other", "usr/lib/libc.so.6", "lib/ld.so", "bin/x"]
)
def test_programs_and_libraries_of_the_image_do_not_change(policy: SystemPolicy, path: str) -> None:
    for entry in (added(policy, path, over=True), ChangeEntry(path, FILE, None)):
        found = split(policy, entry)
        assert (found.laid, [one.id for one in found.findings]) == ((), ["system_changed"])


@pytest.mark.parametrize(
    ("path", "text", "is_carried"),
    [
        ("usr/local/lib/python3.11/site-packages/x.pth", "/app/src\n", True),
        ("usr/local/lib/python3.11/site-packages/x.pth", "import os; os._exit(0)\n", False),
        ("usr/local/lib/python3.11/site-packages/x.dist-info/entry_points.txt", "[console_scripts]\n", True),
        ("usr/local/lib/python3.11/site-packages/x.dist-info/entry_points.txt", "[pytest11]\nx = x\n", False),
    ],
)
def test_packages_are_carried_unless_every_python_would_run_them(
    policy: SystemPolicy,
    path: str,
    text: str,
    is_carried: bool,  # noqa: FBT001  # a row of a table
) -> None:
    assert bool(split(policy, added(policy, path, text)).laid) is is_carried


def test_work_may_lie_in_a_folder_of_path_and_tools_there_do_not_change(policy: SystemPolicy) -> None:
    own = SystemPolicy([*policy.path, "app/bin"], "app", "", lambda name: name == "run", policy.blobs)
    found = split(own, added(own, "app/bin/run", over=True), added(own, "app/bin/python3", over=True))
    assert [one.path for one in found.laid] == ["app/bin/run"]
    assert [one.where for one in found.findings] == ["/app/bin/python3"]


def test_a_folder_with_programs_below_it_is_not_taken_along(policy: SystemPolicy) -> None:
    link = ChangeEntry("usr", Entry("dir"), Entry("symlink", target="/app/usr"))
    found = split(
        policy,
        link,
        ChangeEntry("bin", Entry("symlink", target="usr/bin"), Entry("dir")),
        added(policy, "bin/new"),
    )
    assert found.laid == ()
    assert {one.where for one in found.findings} == {"/usr", "/bin"}


def test_of_a_rename_one_half_may_stay(policy: SystemPolicy) -> None:
    stored = policy.blobs.put_bytes(b"x")
    new = Entry("file", "755", stored.size, stored.sha256)
    found = split(policy, ChangeEntry("app/python3.real", FILE, new, renamed_from="usr/bin/python3"))
    assert [(one.path, one.kind) for one in found.laid] == [("app/python3.real", "file")]
    assert [one.where for one in found.findings] == ["/usr/bin/python3"]


def test_folders_links_and_deletions_are_carried(policy: SystemPolicy) -> None:
    found = split(
        policy,
        ChangeEntry("app/empty", None, Entry("dir")),
        ChangeEntry("app/link", None, Entry("symlink", target="/etc/x")),
        ChangeEntry("app/old", FILE, None),
    )
    assert {(one.path, one.kind) for one in found.laid} == {("app/empty", "dir"), ("app/link", "symlink"), ("app/old", "gone")}  # fmt: skip


NAMES = st.sampled_from(
    ["tests", "logs", "usr", "bin", "lib", "app", "root", "etc", ".bashrc", "python3", "a", "local"]
)


@given(parts=st.lists(NAMES, min_size=1, max_size=4), over=st.booleans())
def test_nothing_is_ever_laid_where_the_verifier_has_its_own(parts: list[str], over: bool) -> None:  # noqa: FBT001
    policy = SystemPolicy(["usr/bin"], "app", "", HAS.__contains__, Blobs(Path("/nonexistent")))
    entry = ChangeEntry("/".join(parts), FILE if over else None, Entry("symlink", target="/app"))
    for one in policy.split([entry]).laid:
        assert one.path.split("/")[0] not in {"tests", "logs"}
        assert one.path not in {
            "usr",
            "usr/bin",
            "bin",
            "lib",
            "usr/lib",
            "usr/bin/python3",
            "usr/local",
            "root/.bashrc",
        }
