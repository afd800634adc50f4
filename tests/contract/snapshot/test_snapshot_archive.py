"""An archive becomes a tree, and a hostile one becomes a sentence."""

from __future__ import annotations

import hashlib
import io
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard.contract.model import Repository
from steelyard.contract.snapshot.snapshot import Snapshot, take_snapshot
from steelyard.errors import ContractFault
from steelyard.filesystem.cache import Cache

EXPECTED = {"top/a": "644", "top/run.sh": "755", "top/link": "", "top/empty": ""}


def take(path: Path, store: Cache, commit: str | None = None) -> Snapshot:
    commit = commit or hashlib.sha256(path.read_bytes()).hexdigest()
    return take_snapshot(Repository(archive=path.name, commit=commit), path.parent, store)


def member(name: str, kind: bytes = tarfile.REGTYPE, mode: int = 0o644, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.mode, info.linkname = kind, mode, link
    return info


def write_tar(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    suffix = path.name.rpartition(".")[2]
    mode = {"gz": "w:gz", "xz": "w:xz", "tgz": "w:gz"}.get(suffix, "w")
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]  # chosen by the name
        for info, content in members:
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def write_zip(path: Path, members: list[tuple[str, int, bytes]]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode, content in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = mode << 16
            archive.writestr(info, content)
    return path


def ordinary_tar(path: Path) -> Path:
    return write_tar(
        path,
        [
            (member("./top/", tarfile.DIRTYPE, 0o755), b""),
            (member("./top/a"), b"1\n"),
            (member("./top/run.sh", mode=0o750), b"#!\n"),
            (member("./top/link", tarfile.SYMTYPE, link="a"), b""),
            (member("./top/empty", tarfile.DIRTYPE, 0o755), b""),
        ],
    )


def ordinary_zip(path: Path) -> Path:
    return write_zip(
        path,
        [
            ("top/", stat.S_IFDIR | 0o755, b""),
            ("top/a", stat.S_IFREG | 0o644, b"1\n"),
            ("top/run.sh", stat.S_IFREG | 0o755, b"#!\n"),
            ("top/link", stat.S_IFLNK | 0o777, b"a"),
            ("top/empty/", stat.S_IFDIR | 0o755, b""),
        ],
    )


def zstd(path: Path) -> Path:
    import subprocess

    plain = ordinary_tar(path.with_suffix(""))
    subprocess.run(["zstd", "-q", plain, "-o", path], check=True)
    return path


KINDS: dict[str, Callable[[Path], Path]] = {
    "x.tar": ordinary_tar,
    "x.tar.gz": ordinary_tar,
    "x.tgz": ordinary_tar,
    "x.tar.xz": ordinary_tar,
    "x.zip": ordinary_zip,
}
if shutil.which("zstd"):
    KINDS["x.tar.zst"] = zstd


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_archive_gives_the_same_tree(tmp_path: Path, store: Cache, name: str) -> None:
    path = KINDS[name](tmp_path / name)
    snapshot = take(path, store)
    assert {path: entry.mode for path, entry in snapshot.entries.items()} == EXPECTED
    assert snapshot.entries["top/link"].target == "a"
    assert snapshot.commit == hashlib.sha256(path.read_bytes()).hexdigest()
    other = take(ordinary_tar(tmp_path / "other.tar"), store)
    assert snapshot.root == other.root


def test_the_sha256_of_the_archive_is_required_and_must_be_right(tmp_path: Path, store: Cache) -> None:
    path = ordinary_tar(tmp_path / "x.tar")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(ContractFault, match=f"does not give its sha256 .commit: {found}"):
        take_snapshot(Repository(archive="x.tar"), tmp_path, store)
    with pytest.raises(ContractFault, match=f"its sha256 is {found}, not 0000"):
        take(path, store, "0" * 64)


HOSTILE: list[tuple[str, list[tuple[tarfile.TarInfo, bytes]], str]] = [
    ("absolute", [(member("/etc/x"), b"x")], "leads out of the repository"),
    ("climbs", [(member("../x"), b"x")], "leads out of the repository"),
    ("climbs inside", [(member("a/../../x"), b"x")], "leads out of the repository"),
    ("device", [(member("dev", tarfile.CHRTYPE), b"")], "a device or a FIFO"),
    ("fifo", [(member("pipe", tarfile.FIFOTYPE), b"")], "a device or a FIFO"),
    ("hard link out", [(member("h", tarfile.LNKTYPE, link="/etc/passwd"), b"")], "not a file before it"),
    ("hard link up", [(member("h", tarfile.LNKTYPE, link="../x"), b"")], "not a file before it"),
    ("symlink out", [(member("l", tarfile.SYMTYPE, link="/etc"), b"")], "the symlink l is absolute"),
    ("symlink up", [(member("l", tarfile.SYMTYPE, link="../x"), b"")], "the symlink l leads out"),
    ("symlink round", [(member("l", tarfile.SYMTYPE, link="l"), b"")], "is part of a loop"),
    (
        "through a link",
        [(member("l", tarfile.SYMTYPE, link="d"), b""), (member("l/x"), b"x")],
        "both a file and",
    ),
    (
        "hard link to a link",
        [(member("l", tarfile.SYMTYPE, link="d"), b""), (member("h", tarfile.LNKTYPE, link="l"), b"")],
        "not a file before it",
    ),
    ("twice", [(member("a"), b"1"), (member("a"), b"2")], "a occurs twice"),
]


@pytest.mark.parametrize(
    ("members", "message"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE]
)
def test_a_hostile_tar_is_refused(
    tmp_path: Path, store: Cache, members: list[tuple[tarfile.TarInfo, bytes]], message: str
) -> None:
    with pytest.raises(ContractFault, match=message):
        take(write_tar(tmp_path / "x.tar", members), store)
    assert not (store.root / "snapshots").exists() or not list((store.root / "snapshots").iterdir())


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("../x", stat.S_IFREG | 0o644, "leads out of the repository"),
        ("/x", stat.S_IFREG | 0o644, "leads out of the repository"),
        ("x", stat.S_IFIFO | 0o644, "a device or a FIFO"),
        ("x", stat.S_IFLNK | 0o777, "is absolute"),
    ],
)
def test_a_hostile_zip_is_refused(tmp_path: Path, store: Cache, name: str, mode: int, message: str) -> None:
    with pytest.raises(ContractFault, match=message):
        take(write_zip(tmp_path / "x.zip", [(name, mode, b"/etc/passwd")]), store)


def test_a_hard_link_inside_is_a_copy(tmp_path: Path, store: Cache) -> None:
    path = write_tar(
        tmp_path / "x.tar", [(member("a"), b"1\n"), (member("b", tarfile.LNKTYPE, link="a"), b"")]
    )
    entries = take(path, store).entries
    assert entries["a"] == entries["b"]


def test_a_git_folder_in_an_archive_stays_behind(tmp_path: Path, store: Cache) -> None:
    path = write_tar(tmp_path / "x.tar", [(member("a"), b"1\n"), (member(".git/hooks/pre-commit"), b"#!\n")])
    assert list(take(path, store).entries) == ["a"]


@pytest.mark.parametrize("name", ["x.tar.gz", "x.tar.xz", "x.tar", "x.zip"])
def test_a_damaged_archive_is_refused(tmp_path: Path, store: Cache, name: str) -> None:
    path = KINDS[name](tmp_path / name)
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ContractFault, match="is damaged"):
        take(path, store)


def test_an_archive_of_an_unknown_kind_is_refused(tmp_path: Path, store: Cache) -> None:
    (tmp_path / "x.rar").write_bytes(b"Rar!")
    with pytest.raises(ContractFault, match="not an archive of a known kind"):
        take(tmp_path / "x.rar", store)
