"""A tar of a hostile workspace becomes plain files in a folder of ours, and nothing outside of it."""

from __future__ import annotations

import io
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.evidence.change.importer import import_folder
from steelyard.sandboxes.docker.archive import OVER, Caps, unpack

Make = Callable[[tarfile.TarInfo], None]


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.mode = kind, target, mode
    return made


def unpacked(into: Path, *entries: tuple[tarfile.TarInfo, bytes], caps: Caps | None = None) -> Path:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        for one, content in entries:
            one.size = len(content)
            tar.addfile(one, io.BytesIO(content))
    stream.seek(0)
    into.mkdir()
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        unpack(tar, into, caps or Caps())
    return into


def test_files_folders_and_links_are_there(tmp_path: Path) -> None:
    made = unpacked(
        tmp_path / "out",
        (entry("workspace", tarfile.DIRTYPE), b""),
        (entry("workspace/a/b", mode=0o755), b"hi"),
        (entry("workspace/link", tarfile.SYMTYPE, "a/b"), b""),
        (entry("workspace/twin", tarfile.LNKTYPE, "workspace/a/b"), b""),
    )
    assert (
        (made / "a/b").read_bytes() == (made / "link").read_bytes() == (made / "twin").read_bytes() == b"hi"
    )
    assert stat.S_IMODE((made / "a/b").stat().st_mode) == 0o755


@pytest.mark.parametrize(
    "name", ["workspace/../../x", "/etc/x", "workspace/a/../../../x", "../x", "workspace//x/.."]
)
def test_no_name_leads_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "above").mkdir()
    made = unpacked(tmp_path / "above" / "out", (entry(name), b"x"))
    assert all(path.is_relative_to(made) for path in tmp_path.rglob("x"))


def test_a_link_on_the_way_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    made = unpacked(
        tmp_path / "out",
        (entry("w/door", tarfile.SYMTYPE, str(target)), b""),
        (entry("w/door/planted"), b"x"),
    )
    assert list(target.iterdir()) == []
    assert (made / "door").is_dir()


def test_a_hard_link_cannot_name_a_file_outside(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    made = unpacked(tmp_path / "out", (entry("w/stolen", tarfile.LNKTYPE, "w/../../secret"), b""))
    assert not (made / "stolen").exists()


def test_a_device_is_left_out_and_a_fifo_is_not_opened(tmp_path: Path) -> None:
    made = unpacked(
        tmp_path / "out", (entry("w/null", tarfile.CHRTYPE), b""), (entry("w/pipe", tarfile.FIFOTYPE), b"")
    )
    assert [path.name for path in made.iterdir()] == ["pipe"]


def test_special_bits_are_not_taken_over(tmp_path: Path) -> None:
    made = unpacked(tmp_path / "out", (entry("w/su", mode=0o6755), b"x"))
    assert stat.S_IMODE((made / "su").stat().st_mode) == 0o755


@pytest.mark.parametrize("caps", [Caps(file_bytes=2), Caps(total_bytes=2), Caps(entries=1)])
def test_what_is_over_a_cap_never_looks_complete(tmp_path: Path, caps: Caps) -> None:
    from steelyard.evidence.change.import_limits import Caps as ImporterCaps

    files = [(entry(f"w/{number}"), b"content") for number in range(4)]
    made = unpacked(tmp_path / "out", *files, caps=caps)
    baseline = tmp_path / "baseline"
    baseline.mkdir()
    limits = ImporterCaps(file_bytes=caps.file_bytes)
    change = import_folder(made, baseline, baseline_root="", blobs=None, caps=limits)
    assert not change.complete


def test_left_out_entries_are_marked(tmp_path: Path) -> None:
    files = [(entry(f"w/{number}"), b"") for number in range(4)]
    made = unpacked(tmp_path / "out", *files, caps=Caps(entries=1))
    assert (made / OVER).stat().st_size > 1 << 32


NAMES = st.lists(st.sampled_from(["a", "b", "..", ".", "", "c\udcff"]), min_size=1, max_size=4).map("/".join)
KINDS = st.sampled_from(
    [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE]
)


@settings(max_examples=200)
@given(st.lists(st.tuples(NAMES, KINDS, NAMES), max_size=12))
def test_no_tar_writes_outside_its_folder(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, bytes, str]]
) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "a").write_text("untouched")
    pieces = [(entry(f"w/{name}", kind, target), b"") for name, kind, target in entries if name]
    unpacked(home / "out", *pieces)
    assert sorted(path.name for path in home.iterdir()) == ["a", "out"]
    assert (home / "a").read_text() == "untouched"
