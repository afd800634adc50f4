"""What an agent that is root may change: its work is carried to the bench, what programs read is the image's own."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.bench.transfer.system.change import MOST_FINDINGS, SystemChange, SystemPolicy
from steelyard.bench.transfer.system.places import ImageContents, SystemPaths
from steelyard.bench.transfer.system.policy import parse_listing
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.folder.blobs import Blobs
from steelyard.filesystem.tree import Entry

HAS = ImageContents(
    path=("usr/local/bin", "usr/bin", "opt/tool/bin", "home/ann/bin", "app/node_modules/.bin"),
    programs=frozenset({"python3", "cat", "ls"}),
    needed=("python/cpython-3.12",),
    others=("opt/conda", "root/miniconda3", "app/venv"),
    homes=("root", "var/www"),
    imports=("usr/lib/python3.11", "srv/lib"),
)
FILE = Entry("file", "644", 1, "")
LINK = Entry("symlink", target="/srv/l")


@pytest.fixture
def policy(tmp_path: Path) -> SystemPolicy:
    (tmp_path / "blobs").mkdir()
    return SystemPolicy(
        SystemPaths("app", HAS), "Write calendar.py, and /result.txt.", Blobs(tmp_path / "blobs")
    )


def added(policy: SystemPolicy, path: str, text: str = "x", *, over: bool = False) -> ChangeEntry:
    stored = policy.blobs.put_bytes(text.encode())
    new = Entry("file", "755", stored.size, stored.sha256)
    return ChangeEntry(path, FILE if over else None, new)


def split(policy: SystemPolicy, *entries: ChangeEntry) -> SystemChange:
    return policy.split(entries)


def in_folder(policy: SystemPolicy, workdir: str) -> SystemPolicy:
    return replace(policy, places=SystemPaths(workdir, policy.places.installed))


def exporting(policy: SystemPolicy, *exports: str) -> SystemPolicy:
    return replace(policy, exports=exports)


CARRIED = [
    "app/out.txt",
    "app/pkg/json.py",
    "app/calendar.py",
    "app/.env",
    "app/venv/lib/python3.11/site-packages/x.py",
    "home/ann/notes",
    "root/key",
    "tmp/result",
    "var/log/x",
    "var/www/html/.htaccess",
    "srv/repo/.git/HEAD",
    "opt/made/x",
    "data/x",
    "output/x",
    "tests2/x",
    "result.txt",
]


@pytest.mark.parametrize("path", CARRIED)
def test_work_is_carried(policy: SystemPolicy, path: str) -> None:
    found = split(policy, added(policy, path))
    assert [(one.path, one.kind, one.mode) for one in found.overlays] == [(path, "file", "755")]
    assert found.findings == ()


LEFT = {
    "tests/x": "at_hidden_place",
    "logs/verifier/reward.txt": "at_hidden_place",
    "opt/steelyard/steelyard/rubric.py": "at_hidden_place",
    "dev/shm/x": "system_changed",
    "app/json.py": "steers_runner",
    "srv/lib/json.py": "steers_runner",
    "app/unittest/__init__.py": "steers_runner",
    "app/sitecustomize.py": "start_up_changed",
    "app/conftest.py": "steers_runner",
    "app/pytest.ini": "steers_runner",
    "app/tox.ini": "steers_runner",
    "app/packaging.py": "steers_runner",
    "srv/project/conftest.py": "steers_runner",
    # Each of these was carried once, and rewarded wrong work.
    "usr/lib/python311.zip": "not_carried",
    "etc/nsswitch.conf": "not_carried",
    "usr/lib/x86_64-linux-gnu/libnss_evil.so.2": "not_carried",
    "usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2/libc.so.6": "not_carried",
    "usr/local/lib/python3.11/dist-packages/x.pth": "not_carried",
    "usr/local/lib/libpython3.12.so.1.0": "not_carried",
    "usr/local/lib/python3.12/site-packages/numpy/__init__.py": "not_carried",
    "usr/local/lib/node_modules/npm/bin/npm-cli.js": "not_carried",
    "usr/local/share/perl/5.36.0/strict.pm": "not_carried",
    "usr/local/bin/greet": "not_carried",
    "etc/perl/strict.pm": "not_carried",
    "etc/ld-musl-x86_64.path": "not_carried",
    "etc/ssl/openssl.cnf": "not_carried",
    "etc/passwd": "not_carried",
    "root/.pyenv/versions/3.11.7/lib/python3.11/json/__init__.py": "not_carried",
    "root/miniconda3/lib/python3.11/json/__init__.py": "not_carried",
    "opt/conda/lib/libpython3.11.so.1.0": "not_carried",
    "opt/tool/lib/x": "not_carried",
    "python/cpython-3.12/lib/python3.12/json/__init__.py": "not_carried",
    "app/node_modules/x/index.js": "not_carried",
    "root/.bashrc": "not_carried",
    "root/.gitconfig": "not_carried",
    "root/.sqliterc": "not_carried",
    "root/.jq": "not_carried",
    "root/bin/uvx": "not_carried",
    "home/ann/bin/x": "not_carried",
    "home/ann/.config/git/config": "not_carried",
    "var/www/.psqlrc": "not_carried",
    "var/lib/dpkg/info/x.postinst": "not_carried",
    "var/spool/cron/crontabs/root": "not_carried",
    "node_modules/chai/index.js": "not_carried",
    ".git/config": "not_carried",
    "conftest.py": "not_carried",
    "package.json": "not_carried",
    "run/x": "not_carried",
}


@pytest.mark.parametrize("path", LEFT)
def test_what_grades_is_the_images_own_and_that_is_reported(policy: SystemPolicy, path: str) -> None:
    for entry in (added(policy, path), ChangeEntry(path, None, LINK)):
        found = split(policy, entry)
        assert found.overlays == ()
        assert [(one.id, one.where) for one in found.findings] == [(LEFT[path], f"/{path}")]


@pytest.mark.parametrize("path", [path for path, why in LEFT.items() if why == "not_carried"])
def test_what_the_image_had_there_does_not_change_either(policy: SystemPolicy, path: str) -> None:
    for entry in (added(policy, path, over=True), ChangeEntry(path, FILE, None)):
        found = split(policy, entry)
        assert (found.overlays, [one.id for one in found.findings]) == ((), ["not_carried"])


def test_what_was_left_out_says_what_an_author_can_do(policy: SystemPolicy) -> None:
    (finding,) = split(policy, added(policy, "etc/nginx/nginx.conf")).findings
    assert "list it in `exports`, or use `bench: live`" in finding.why


@pytest.mark.parametrize("path", ["usr", "usr/local/lib", "bin", "opt", "opt/conda", "root", "home/ann", "var", "var/www", "srv", "tests"])  # fmt: skip
def test_a_folder_with_something_of_the_systems_is_not_replaced(policy: SystemPolicy, path: str) -> None:
    for old, new in (
        (Entry("dir"), LINK),
        (Entry("dir"), None),
        (Entry("symlink", target="x"), Entry("dir")),
    ):
        found = split(policy, ChangeEntry(path, old, new), added(policy, f"{path}/x/new"))
        assert (
            found.overlays == ()
            if new is not None
            else not [one for one in found.overlays if one.path == path]
        )
        assert f"/{path}" in {one.where for one in found.findings}


def test_a_link_in_a_place_for_work_is_data(policy: SystemPolicy) -> None:
    found = split(policy, ChangeEntry("srv/l", None, Entry("symlink", target="/usr/lib")))
    assert [(one.path, one.kind) for one in found.overlays] == [("srv/l", "symlink")]


def test_programs_of_the_image_in_the_working_folder_stay_and_new_ones_are_work(policy: SystemPolicy) -> None:
    own = replace(policy, places=SystemPaths("app", replace(HAS, path=(*HAS.path, "app/bin"))))
    found = split(
        own,
        added(own, "app/bin/run", over=True),
        added(own, "app/bin/cat"),
        added(own, "app/bin/pytest"),
        added(own, "app/bin/mine"),
        added(own, "app/lib/x.py"),
    )
    assert {one.path for one in found.overlays} == {"app/bin/mine", "app/lib/x.py"}
    assert {one.where for one in found.findings} == {"/app/bin/run", "/app/bin/cat", "/app/bin/pytest"}


def test_a_working_folder_with_an_interpreter_keeps_its_library(policy: SystemPolicy) -> None:
    has = replace(HAS, path=("app/bin",), needed=("app",))
    own = replace(policy, places=SystemPaths("app", has))
    for path in ("app/lib/python3.11/site-packages/x.pth", "app/lib64/x", "app/pyvenv.cfg"):
        assert split(own, added(own, path)).overlays == ()
    assert split(own, added(own, "app/src/x")).overlays


@pytest.mark.parametrize(
    ("workdir", "path", "is_carried"),
    [
        ("usr/src/app", "usr/src/app/x", True),
        ("usr/local/tomcat", "usr/local/tomcat/webapps/x", True),
        ("usr/local/lib", "usr/local/lib/x", False),
        ("usr/local", "usr/local/x", False),
        ("etc", "etc/x", False),
        ("var", "var/lib/dpkg/x", False),
        ("var/lib/mysql", "var/lib/mysql/x", True),
        ("root", "root/x", True),
        ("root", "root/.git/HEAD", True),
        ("root", "root/.profile", False),
        ("home", "home/ann/.profile", False),
        ("opt/conda/work", "opt/conda/work/x", True),
        ("opt/conda/work", "opt/conda/lib/x", False),
        ("", "etc/x", False),
        ("", "json/__init__.py", False),
        ("", "calendar.py", True),
        ("", "other.py", False),
    ],
)
def test_a_working_folder_is_for_work_unless_it_is_the_systems(
    policy: SystemPolicy,
    workdir: str,
    path: str,
    is_carried: bool,  # noqa: FBT001  # a row of a table
) -> None:
    own = in_folder(policy, workdir)
    assert bool(split(own, added(own, path)).overlays) is is_carried


SITE = "/usr/local/lib/python3.11/site-packages"


@pytest.mark.parametrize(
    ("pattern", "path", "text", "is_carried"),
    [
        ("/etc/nginx/**", "etc/nginx/conf.d/x.conf", "", True),
        ("/etc/nginx/**", "etc/nginx2/x.conf", "", False),
        ("/etc/passwd", "etc/passwd", "", True),
        ("/usr/local/bin/greet", "usr/local/bin/greet", "", True),
        ("/usr/local/bin/*", "usr/local/bin/greet", "", True),
        ("/usr/local/bin/*", "usr/local/bin/pytest", "", False),
        ("/usr/local/bin/*", "usr/local/bin/cat", "", False),
        ("/usr/local/bin/cat", "usr/local/bin/cat", "", True),
        (f"{SITE}/**", f"{SITE[1:]}/numpy/__init__.py", "", True),
        (f"{SITE}/**", f"{SITE[1:]}/_pytest/main.py", "", False),
        (f"{SITE}/**", f"{SITE[1:]}/x.pth", "/app/src\n", True),
        (f"{SITE}/**", f"{SITE[1:]}/x.pth", "/nowhere\rimport os", False),
        (f"{SITE}/**", f"{SITE[1:]}/x.pth", "\ufeffimport os", False),
        (f"{SITE}/**", f"{SITE[1:]}/x.dist-info/entry_points.txt", "[x]\r[pytest11]", False),
        (f"{SITE}/**", f"{SITE[1:]}/x.dist-info/entry_points.txt", "[console_scripts]", True),
        ("/usr/lib/*", "usr/lib/python311.zip", "", False),
        ("/**", "tests/x", "", False),
        ("/tests/x", "tests/x", "", False),
    ],
)
def test_what_is_exported_is_work_unless_it_steers_and_is_not_named(
    policy: SystemPolicy,
    pattern: str,
    path: str,
    text: str,
    is_carried: bool,  # noqa: FBT001  # a row of a table
) -> None:
    own = exporting(policy, pattern)
    assert bool(split(own, added(own, path, text)).overlays) is is_carried


def test_folders_above_what_is_exported_need_no_word(policy: SystemPolicy) -> None:
    own = exporting(policy, "/etc/greet/**")
    found = split(own, ChangeEntry("etc/greet", None, Entry("dir")), added(own, "etc/greet/x"))
    assert [one.path for one in found.overlays] == ["etc/greet", "etc/greet/x"]
    named = exporting(policy, "/etc/greet/x")
    found = split(named, ChangeEntry("etc/greet", None, Entry("dir")), added(named, "etc/greet/x"))
    assert ([one.path for one in found.overlays], found.findings) == (["etc/greet/x"], ())


def test_of_a_rename_one_half_may_stay(policy: SystemPolicy) -> None:
    stored = policy.blobs.put_bytes(b"x")
    new = Entry("file", "755", stored.size, stored.sha256)
    found = split(policy, ChangeEntry("app/python3.real", FILE, new, renamed_from="usr/bin/python3"))
    assert [(one.path, one.kind) for one in found.overlays] == [("app/python3.real", "file")]
    assert [one.where for one in found.findings] == ["/usr/bin/python3"]


def test_folders_links_and_deletions_are_carried(policy: SystemPolicy) -> None:
    found = split(
        policy,
        ChangeEntry("app/empty", None, Entry("dir")),
        ChangeEntry("app/link", None, Entry("symlink", target="/etc/x")),
        ChangeEntry("app/old", FILE, None),
    )
    assert {(one.path, one.kind) for one in found.overlays} == {("app/empty", "dir"), ("app/link", "symlink"), ("app/old", "gone")}  # fmt: skip


@given(
    paths=st.lists(
        st.from_regex(r"(usr|etc|var/lib)(/[a-e]{1,2}){1,5}", fullmatch=True), unique=True, max_size=200
    )
)
def test_every_path_that_is_left_is_counted_in_a_finding(paths: list[str]) -> None:
    policy = SystemPolicy(SystemPaths("app"), "", Blobs(Path("/nonexistent")))
    found = policy.split([ChangeEntry(path, FILE, None) for path in paths]).findings
    counts = [int(one.why.split()[0]) if one.why[0].isdigit() else 1 for one in found]
    assert sum(counts) == len(paths)
    assert len(found) <= MOST_FINDINGS


def test_many_odd_names_at_the_top_are_few_findings() -> None:
    policy = SystemPolicy(SystemPaths("app"), "", Blobs(Path("/nonexistent")))
    found = policy.split([ChangeEntry(f".x{number}", FILE, None) for number in range(500)]).findings
    assert len(found) == MOST_FINDINGS
    assert found[-1].why.startswith("481 paths")


NAMES = st.sampled_from(
    ["tests", "logs", "usr", "bin", "lib", "app", "root", "etc", ".bashrc", "python3", "a", "local"]
)


@given(parts=st.lists(NAMES, min_size=1, max_size=4), over=st.booleans())
def test_nothing_is_ever_written_where_programs_look(parts: list[str], over: bool) -> None:  # noqa: FBT001
    policy = SystemPolicy(SystemPaths("app", HAS), "", Blobs(Path("/nonexistent")))
    entry = ChangeEntry("/".join(parts), FILE if over else None, Entry("symlink", target="/app"))
    for one in policy.split([entry]).overlays:
        assert one.path.split("/")[0] in {"app", "a", "python3", "root", "local"}
        assert one.path not in {"root", "root/.bashrc", "root/bin"}


def test_what_an_image_lists_is_read() -> None:
    shown = "p cat\np ls\nd /usr/bin\nd /opt/real/bin\ni /opt/real/bin/python3\ni \nl /opt/uv/uv\nl /data/run.sh\nl /usr/bin/x\nk include x\nk /opt/so\nx /opt/conda\nh /root\nh /\ns /srv/lib\nnoise\n"
    assert parse_listing(shown, ("usr/bin", "opt/x/bin")) == ImageContents(
        path=("usr/bin", "opt/x/bin", "opt/real/bin"),
        programs=frozenset({"cat", "ls"}),
        needed=("opt/real", "opt/so"),
        others=("opt/conda", "opt/uv/uv", "opt/uv", "data/run.sh"),
        homes=("root",),
        imports=("srv/lib",),
    )


@pytest.mark.parametrize(
    "targets",
    [
        {"app/out": "/tests/expected.txt"},
        {"app/out": "../tests/expected.txt"},
        {"app/out": "/logs/verifier/reward.json"},
        {"app/out": "/proc/self/root/tests/expected.txt"},
        {"app/out": "/dev/fd/3"},
        {"app/out": "d/tests/expected.txt", "app/d": "/"},
        {"app/out": "x/y/../../tests", "app/x/y": "/srv/l"},
        {"app/out": "/solution/solve.sh"},
    ],
)
def test_a_link_to_what_the_verifier_has_is_left(policy: SystemPolicy, targets: dict[str, str]) -> None:
    found = split(
        policy, *(ChangeEntry(path, None, Entry("symlink", target=to)) for path, to in targets.items())
    )
    assert "app/out" not in {one.path for one in found.overlays}
    assert ("leads_to_hidden", "/app/out") in {(one.id, one.where) for one in found.findings}


@pytest.mark.parametrize("target", ["/srv/data", "../srv", "/dev/null", "out", "/usr/bin/env", "/testsuite"])
def test_a_link_to_anything_else_is_work(policy: SystemPolicy, target: str) -> None:
    found = split(policy, ChangeEntry("app/out", None, Entry("symlink", target=target)))
    assert [one.path for one in found.overlays] == ["app/out"]
