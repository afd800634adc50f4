"""The pure parts of importing: what is read is read exactly, and nothing in a task can hurt."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.contract.model import NAME_PATTERN
from steelyard.contract.parse.yaml_source import parse_yaml, parse_yaml_list
from steelyard.errors import ContractFault, OperatorFault
from steelyard.importers import swebench
from steelyard.importers.copying import Room, copy
from steelyard.importers.harbor.dockerfile import CopiedPath, DockerfileError, is_pinned, part
from steelyard.importers.reading import read_toml, strict_json, toml_positions
from steelyard.importers.rows import read_rows
from steelyard.importers.task import FileCopy, Options, Task, as_name, contract_text

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(TEXT.filter(lambda key: key != "<<"), PLAIN, max_size=5), st.lists(TEXT, max_size=3))
def test_a_written_contract_says_what_was_meant(contract: dict[str, Any], notes: list[str]) -> None:
    try:
        raw = contract_text(Task("a", "a task", contract, {}, notes=tuple(notes)))
    except ContractFault:
        return  # a control character that YAML has no way to write
    assert parse_yaml(raw, "contract.yaml").data == contract


@given(TEXT)
def test_a_label_becomes_a_name_or_nothing(label: str) -> None:
    name = as_name(label)
    assert name == "" or re.fullmatch(NAME_PATTERN, name)
    assert as_name(name) == name


@given(st.dictionaries(st.sampled_from(sorted(swebench.Row.model_fields)) | TEXT, PLAIN))
def test_a_row_of_anything_is_a_task_or_a_fault(row: dict[str, Any]) -> None:
    with pytest.raises(ContractFault):
        swebench.convert(row, "rows.jsonl:1", Options())


@given(TEXT | st.text("[]=.abc\n\"' #", max_size=60))
def test_positions_of_toml_never_stop_a_reader(text: str) -> None:
    for place in toml_positions(text, {"a": {"b": 1}, "c": [{"a": 1}]}, "task.toml"):
        assert place in {("a",), ("a", "b"), ("c",), ("c", "a")}


def test_keys_of_toml_are_found_in_their_tables(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('version = "1.0"\n[a]\n  [a.b]\n  c = 1\n[[steps]]\nname = "x"\n')
    source = read_toml(tmp_path, "task.toml")
    assert source.where(("a", "b", "c")).endswith("task.toml:4:3")
    assert source.where(("steps", "name")).endswith("task.toml:6:1")
    assert source.where(("a", "b", "d")).endswith("task.toml:3:3")


def test_a_line_of_a_text_is_no_key_of_toml(tmp_path: Path) -> None:
    (tmp_path / "task.toml").write_text('a = """\nb = 1\n"""\n[t]\nb = 2\n')
    assert read_toml(tmp_path, "task.toml").where(("t", "b")).endswith(":5:1")


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', "NaN", '{"a": Infinity}', "[" * 100_000])
def test_json_that_means_two_things_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"twice|not a number|nested"):
        strict_json(text)


def test_a_list_in_yaml_may_stand_alone_or_under_its_key() -> None:
    alone = parse_yaml_list(b"- type: a\n- type: b\n", "s.yaml", "scorers")
    under = parse_yaml_list(b"scorers:\n  - type: a\n  - type: b\n", "s.yaml", "scorers")
    assert alone.data == under.data == {"scorers": [{"type": "a"}, {"type": "b"}]}
    assert alone.where(("scorers", 1, "type")) == "s.yaml:2:3"


@pytest.mark.parametrize("raw", [b"a: 1\n", b"scorers: []\nmore: 1\n", b"text\n", b""])
def test_what_is_no_list_in_yaml_is_refused(raw: bytes) -> None:
    with pytest.raises(ContractFault, match="expected a list"):
        parse_yaml_list(raw, "s.yaml", "scorers")


# Rows


def test_rows_know_their_lines_and_a_bad_one_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"a": 1}\n\n{"a":\n[1]\n\xff\n{"a": 2}\n')
    rows = list(read_rows(path))
    assert [row.where.rpartition(":")[2] for row in rows] == ["1", "3", "4", "5", "6"]
    assert [row.row for row in rows] == [{"a": 1}, None, None, None, {"a": 2}]


def test_rows_of_json_are_a_list(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('[{"a": 1}, 2]')
    first, second = read_rows(path)
    assert (first.row, second.row, second.where) == ({"a": 1}, None, f"{path}[1]")
    path.write_text('{"a": 1}')
    with pytest.raises(ContractFault, match="expected a list"):
        list(read_rows(path))


def test_rows_of_parquet_are_as_json_would_say_them(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    rows = [{"id": f"a-{number}", "ids": ["x", "y"], "none": None} for number in range(100)]
    at = datetime(2021, 5, 13, 21, 32, tzinfo=UTC)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([{**row, "at": at} for row in rows]), path)
    read = list(read_rows(path))
    assert [one.row for one in read] == [{**row, "at": at.isoformat()} for row in rows]
    assert read[70].where == f"{path}[70]"


@pytest.mark.parametrize("content", [b"", b"PAR1" * 9, b"{}\n", b"PAR1\xff\xff\x02\0\0\0PAR1"])
def test_what_is_not_parquet_is_reported(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    with pytest.raises(ContractFault, match="not Parquet"):
        list(read_rows(path))


def test_without_a_reader_of_parquet_its_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(OperatorFault, match=r"steelyard\[parquet\]"):
        list(read_rows(tmp_path / "rows.parquet"))


# Dockerfiles

HERE = {".": True, "data": True, "main.py": False, "a b": False, "data/x": False}


def parted(text: str, workdir: str | None = None) -> Any:
    return part(text, HERE.get, workdir)


@given(TEXT | st.text("FROMCPYRUNWKDI \n\\/.#<E[]\"'$*ab", max_size=120))
def test_any_text_is_a_dockerfile_or_a_refusal(text: str) -> None:
    for read in (parted, is_pinned):
        with suppress(DockerfileError):
            read(text)


@pytest.mark.parametrize(
    ("line", "moved"),
    [
        ("COPY main.py .", CopiedPath("main.py", "main.py", is_folder=False)),
        ("COPY main.py /app/", CopiedPath("main.py", "main.py", is_folder=False)),
        ("COPY main.py other.py", CopiedPath("main.py", "other.py", is_folder=False)),
        ("COPY main.py /app/src/", CopiedPath("main.py", "src/main.py", is_folder=False)),
        ("COPY data /app", CopiedPath("data", ".", is_folder=True)),
        ("COPY ./data/ /app/data", CopiedPath("data", "data", is_folder=True)),
        ("copy . .", CopiedPath(".", ".", is_folder=True)),
        ('COPY ["a b", "./"]', CopiedPath("a b", "a b", is_folder=False)),
        ("COPY data/x \\\n  # why\n  x", CopiedPath("data/x", "x", is_folder=False)),
    ],
)
def test_what_is_copied_into_the_working_folder_moves_to_the_repository(line: str, moved: CopiedPath) -> None:
    found = parted(
        f'FROM debian\nRUN true\nWORKDIR /app\n{line}\nENV A=1 B=\'x y\'\nENV C some text\nRUN ["echo", "a b"]'
    )
    assert found.moved == (moved,)
    assert found.env == {"A": "1", "B": "x y", "C": "some text"}
    assert (found.base, found.commands) == ("debian", ("true", "echo 'a b'"))


def test_several_files_go_into_the_folder_that_is_named() -> None:
    found = parted("FROM debian\nWORKDIR /app\nCOPY main.py data/x sub/\n")
    assert [one.dest for one in found.moved] == ["sub/main.py", "sub/x"]


@pytest.mark.parametrize(
    "line",
    [
        "COPY main.py /opt/main.py",
        "ADD https://example.org/x /opt/",
        "COPY --from=build /a /app/b",
        "RUN apt-get update",
        "RUN true && sudo make",
        "RUN --mount=type=cache,target=/x make",
        "RUN <<EOF\nmake\nEOF",
        "ENV PATH=/app:$PATH",
        "ARG VERSION=1",
        'SHELL ["bash", "-c"]',
        "FROM other",
    ],
)
def test_what_is_about_the_system_needs_docker(line: str) -> None:
    with pytest.raises(DockerfileError, match="needs docker"):
        parted(f"FROM debian\nWORKDIR /app\n{line}\n", None if "FROM" not in line else "/app")


@pytest.mark.parametrize(
    ("text", "line", "result"),
    [
        ("WORKDIR /app\nADD main.py .\n", 3, "anything but COPY"),
        ("WORKDIR /app\nCOPY --chmod=755 main.py .\n", 3, "anything but COPY"),
        ("WORKDIR /app\nCOPY *.py .\n", 3, "anything but COPY"),
        ("WORKDIR /app\nCOPY <<EOF main.py\nx\nEOF\n", 3, "anything but COPY"),
        ("WORKDIR /app\nRUN\n", 3, "RUN needs a command"),
        ("WORKDIR /app\nCOPY ../secret .\n", 3, "outside"),
        ("WORKDIR /app\nCOPY gone .\n", 3, "there is no gone"),
        ("WORKDIR /app\nCOPY main.py\n", 3, "source and a destination"),
        ("WORKDIR /app\nCOPY main.py $HOME/x\n", 3, "variable"),
        ("WORKDIR /app/deep\nCOPY data /app\n", 3, "outside of /app/deep"),
        ("WORKDIR $X\n", 2, "WORKDIR"),
        ("WORKDIR app\n", 2, "WORKDIR"),
        ("ENTRYPOINT /start.sh\n", 2, "ENTRYPOINT"),
        ("VOLUME /app\n", 2, "VOLUME"),
        ("RUN <<EOF\nmake\n", 2, "never comes"),
    ],
)
def test_what_cannot_move_is_refused_with_its_line(text: str, line: int, result: str) -> None:
    with pytest.raises(DockerfileError, match=re.escape(result)) as refused:
        parted(f"FROM debian\n{text}")
    assert refused.value.line == line


def test_only_the_last_stage_is_the_image() -> None:
    assert not is_pinned("FROM debian AS build\nENTRYPOINT x\nFROM debian\nWORKDIR /app\n")


def test_a_here_document_is_no_instruction() -> None:
    assert not is_pinned("FROM debian\nRUN <<EOF\nENTRYPOINT x\nEOF\nWORKDIR /app\n")


@pytest.mark.parametrize(
    ("bases", "pinned"),
    [
        (f"FROM debian@sha256:{'a' * 64} AS a\nFROM a", True),
        ("FROM scratch", True),
        ("FROM debian:12", False),
        (f"FROM --platform=linux/amd64 debian@sha256:{'a' * 64}", True),
    ],
)
def test_a_base_is_pinned_by_its_digest(bases: str, pinned: bool) -> None:  # noqa: FBT001  # a row of a table
    assert is_pinned(bases) is pinned


# Copies


def copied(source: Path, to: Path, room: Room | None = None) -> None:
    copy(FileCopy(source, source), to, room or Room())


def test_a_copy_has_contents_modes_and_links(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "run.sh").write_bytes(b"\0\xff")
    (source / "run.sh").chmod(0o4755)
    (source / "sub" / "link").symlink_to("../run.sh")
    copied(source, tmp_path / "copy")
    assert (tmp_path / "copy/run.sh").read_bytes() == b"\0\xff"
    assert (tmp_path / "copy/run.sh").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "copy/sub/link").readlink() == Path("../run.sh")


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "sub/../../outside", "../source/file"])
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "file").write_text("mine\n")
    (tmp_path / "outside").write_text("secret\n")
    (source / "link").symlink_to(target)
    with pytest.raises(ContractFault, match="link: leads out"):
        copied(source, tmp_path / "copy")


def test_a_link_through_a_link_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").symlink_to("b/x")
    (source / "b").symlink_to(tmp_path)
    (tmp_path / "x").write_text("secret\n")
    with pytest.raises(ContractFault, match="leads out"):
        copied(source, tmp_path / "copy")


def test_a_link_to_nothing_and_a_loop_are_refused(tmp_path: Path) -> None:
    for target in ("gone", "link"):
        source = tmp_path / target / "source"
        source.mkdir(parents=True)
        (source / "link").symlink_to(target)
        with pytest.raises(ContractFault, match="leads nowhere"):
            copied(source, tmp_path / target / "copy")


def test_a_fifo_does_not_hang_a_copy(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    os.mkfifo(tmp_path / "source" / "pipe")
    with pytest.raises(ContractFault, match="pipe: is not a file"):
        copied(tmp_path / "source", tmp_path / "copy")


def test_a_task_has_bounds(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(5):
        (source / f"{number}").write_text("x" * 100)
    with pytest.raises(ContractFault, match="more than"):
        copied(source, tmp_path / "few", Room(files=4))
    with pytest.raises(ContractFault, match="larger than"):
        copied(source, tmp_path / "small", Room(size_bytes=499))
    copied(source, tmp_path / "whole", Room(files=5, size_bytes=500))


def test_a_name_that_cannot_be_printed_is_refused(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "a\nb").write_text("")
    with pytest.raises(ContractFault, match=r"a\\x0ab: has a name"):
        copied(tmp_path / "source", tmp_path / "copy")


def test_a_sparse_giant_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with (tmp_path / "source" / "giant").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ContractFault, match="larger than"):
        copied(tmp_path / "source", tmp_path / "copy", Room(size_bytes=1 << 20))
