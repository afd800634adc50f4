"""Versions that a contract wants -> interpreters that this machine has."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from steelyard.errors import InfraFault, OperatorFault
from steelyard.sandboxes.catalogue import backend
from steelyard.sandboxes.toolchains import (
    KINDS,
    FoundToolchain,
    _ask,
    _read_answer,
    _toolchain,
    installed_toolchains,
    matches,
    resolve,
)

OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    ("wanted", "version", "same"),
    [
        ("3.11", "3.11.7", True),
        ("3.1", "3.11.7", False),
        ("3", "3.11.7", True),
        ("3.11.7", "3.11.7", True),
        ("20", "2.0.1", False),
    ],
)
def test_a_version_is_matched_by_whole_components(wanted: str, version: str, *, same: bool) -> None:
    assert matches(wanted, version) is same


def test_our_own_interpreter_is_found() -> None:
    (python,) = resolve({"python": OWN})
    assert matches(OWN, python.version)
    assert {"python", "python3"} <= set(python.binaries)
    assert all(path.exists() for path in python.binaries.values())


def test_nothing_that_was_found_is_a_script() -> None:
    found = installed_toolchains("python")
    assert found
    assert all(one.binary.read_bytes()[:4] == b"\x7fELF" for one in found)


def test_what_is_under_usr_needs_no_bind(tmp_path: Path) -> None:
    binary = tmp_path / "python3"
    binary.write_bytes(b"\x7fELF")
    assert _toolchain("python", "3", FoundToolchain(binary, "3.99.0", Path("/usr/lib/own"))).prefix is None


def test_what_is_elsewhere_is_bound_at_its_own_path(installation: Path) -> None:
    found = FoundToolchain(installation / "bin/python3.99", "3.99.0", installation)
    assert _toolchain("python", "3", found).prefix == installation


def test_an_absent_version_lists_what_there_is() -> None:
    with pytest.raises(InfraFault, match=rf"python 1\.0 is not on this machine; found: .*{OWN}"):
        resolve({"python": "1.0"})


def test_an_unknown_toolchain_is_named() -> None:
    with pytest.raises(InfraFault, match="cobol"):
        resolve({"cobol": "85"})


def test_the_same_installation_has_the_same_digest() -> None:
    assert resolve({"python": OWN})[0].digest == resolve({"python": OWN})[0].digest


def test_nothing_wanted_is_nothing_resolved() -> None:
    assert resolve({}) == ()


def test_an_unknown_sandbox_is_the_operators_mistake() -> None:
    with pytest.raises(OperatorFault, match="bubblewrap"):
        backend("nonsense")


@pytest.fixture
def installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    prefix = tmp_path / "python"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "bin/python3.99").write_bytes(b"\x7fELF")
    (prefix / "lib").mkdir()
    (prefix / "lib/os.py").write_text("name = 'posix'\n")
    return prefix


def digest_of(prefix: Path) -> str:
    return _toolchain("python", "3", FoundToolchain(prefix / "bin/python3.99", "3.99.0", prefix)).digest


def test_the_digest_of_an_installation_covers_its_library(installation: Path) -> None:
    file = installation / "lib/os.py"
    before, status = digest_of(installation), file.stat()
    file.write_text("name = 'posiX'\n")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest_of(installation) != before
    file.write_text("name = 'posix'\n")
    assert digest_of(installation) == before


def test_byte_code_that_its_use_leaves_is_not_part_of_an_installation(installation: Path) -> None:
    before = digest_of(installation)
    (installation / "lib/__pycache__").mkdir()
    (installation / "lib/__pycache__/os.cpython-399.pyc").write_bytes(b"code")
    assert digest_of(installation) == before


@pytest.fixture
def interpreter(installation: Path) -> Path:
    """A program that answers as an interpreter does, and counts how often it is asked."""
    program = installation / "bin/python3.98"
    program.write_text(f'#!/bin/sh\necho asked >> {installation}/asked\necho "3.98.0 {installation}"\n')
    program.chmod(0o755)
    return program


def times_asked(program: Path) -> int:
    counted = program.parents[1] / "asked"
    return len(counted.read_text().splitlines()) if counted.exists() else 0


def test_an_interpreter_that_did_not_change_is_asked_once(interpreter: Path) -> None:
    first = _ask(interpreter, KINDS["python"])
    assert first == FoundToolchain(interpreter, "3.98.0", interpreter.parents[1])
    assert _ask(interpreter, KINDS["python"]) == first
    assert times_asked(interpreter) == 1


def test_an_interpreter_that_changed_is_asked_again_even_with_its_old_time(interpreter: Path) -> None:
    _ask(interpreter, KINDS["python"])
    status = interpreter.stat()
    interpreter.write_text(interpreter.read_text().replace("3.98.0", "3.98.1"))
    os.utime(interpreter, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = _ask(interpreter, KINDS["python"])
    assert found is not None
    assert found.version == "3.98.1"


def test_an_interpreter_whose_libraries_changed_is_asked_again(interpreter: Path) -> None:
    _ask(interpreter, KINDS["python"])
    (interpreter.parents[1] / "lib/libpython3.98.so.1.0").write_bytes(b"\x7fELF")
    _ask(interpreter, KINDS["python"])
    assert times_asked(interpreter) == 2


def test_an_interpreter_that_does_not_answer_is_asked_again_next_time(interpreter: Path) -> None:
    text = interpreter.read_text()
    interpreter.write_text(text.replace("3.98.0 ", ""))
    assert _ask(interpreter, KINDS["python"]) is None
    assert _ask(interpreter, KINDS["python"]) is None
    assert times_asked(interpreter) == 2


def test_an_interpreter_is_found_where_the_cache_cannot_be_used(
    interpreter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEELYARD_CACHE", str(interpreter / "cache"))
    assert _ask(interpreter, KINDS["python"]) is not None


def test_the_digest_of_an_installation_covers_its_interpreter(installation: Path) -> None:
    before, program = digest_of(installation), installation / "bin/python3.99"
    status = program.stat()
    program.write_bytes(b"\x7fELG")
    os.utime(program, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest_of(installation) != before


@pytest.mark.parametrize(
    ("name", "answer", "version", "prefix"),
    [
        ("python", "3.11.7 /opt/python 3\n", "3.11.7", "/opt/python 3"),
        ("node", "20.20.2 /usr\n", "20.20.2", "/usr"),
        ("go", "go1.19.8\n/usr/lib/go-1.19\n", "1.19.8", "/usr/lib/go-1.19"),
        ("rust", "rustc 1.95.0 (59807616e 2026-04-14)\n", "1.95.0", "/home/ann/toolchain"),
    ],
)
def test_a_program_is_read_by_the_answer_that_it_gives(
    name: str, answer: str, version: str, prefix: str
) -> None:
    found = _read_answer(Path("/home/ann/toolchain/bin/program"), KINDS[name], answer)
    assert found is not None
    assert (found.version, str(found.prefix)) == (version, prefix)


def test_a_nightly_compiler_has_no_release() -> None:
    assert (
        _read_answer(Path("/a/bin/rustc"), KINDS["rust"], "rustc 1.97.0-nightly (1a2b 2026-05-01)\n") is None
    )
