"""A change that writes to the terminal of its reader: titles, colours, a cleared screen, a forged verdict line.

`diff` may be piped into `less` or `cat`, so what it writes has nothing in it that a terminal obeys. Whoever needs every
byte says `--raw`, and a patch that was made safe to read is never graded as if it were the run's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from authoring import FIX, Author, Steelyard
from command_line import run_command

Script = Callable[[str], str]
PAYLOADS: Mapping[str, bytes] = {
    "clear-screen": b"\x1b[2J\x1b[H",
    "window-title": b"\x1b]0;pass\x07",
    "overwritten-line": b"fail\rpass",
    "backspaces": b"fail\b\b\b\bpass",
    "c1-in-utf-8": "\u009b2J".encode(),
    "c1-as-a-byte": b"\x9b2J",
    "delete": b"\x7f",
    "right-to-left": "\u202egnorw".encode(),
    "line-separator": "\u2028".encode(),
}
OBEYED = [b"\x1b", b"\x07", b"\r", b"\b", b"\x9b", b"\x7f", "\u202e".encode(), "\u2028".encode()]


@pytest.fixture
def folder_of(steelyard: Steelyard, author: Author, script: Script) -> Callable[[bytes], Path]:
    """Bytes that an agent appends to the README -> the run folder of that, which solves the task too."""

    def made(payload: bytes) -> Path:
        octal = "".join(f"\\{byte:03o}" for byte in payload)
        work = f"{FIX}printf 'x{octal}y\\n' >> README.md\n"
        return Path(steelyard("run", author.write(), "--agent", script(work), "--json").line["folder"])

    return made


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_a_piped_diff_has_nothing_that_a_terminal_obeys(
    folder_of: Callable[[bytes], Path], tmp_path: Path, payload: bytes
) -> None:
    folder = folder_of(payload)
    result = run_command("diff", folder, cwd=tmp_path)
    assert result.returncode == 0
    assert not [char for char in OBEYED if char in result.stdout]
    assert b"--raw writes it byte for byte" in result.stderr
    raw = run_command("diff", "--raw", folder, cwd=tmp_path)
    assert (raw.stdout, raw.stderr) == ((folder / "patch.diff").read_bytes(), b"")
    assert payload in raw.stdout


def test_an_escaped_patch_is_not_graded_and_the_raw_one_is(
    folder_of: Callable[[bytes], Path], steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    folder = folder_of(b"\x1b[2J")
    for words, code, verdict in (([folder], 2, None), (["--raw", folder], 0, "pass")):
        patch = tmp_path / "change.diff"
        patch.write_bytes(run_command("diff", *words, cwd=tmp_path).stdout)
        result = steelyard("grade", author.folder, "--patch", patch, "--json")
        assert result.code == code
        assert (result.line["verdict"] if verdict else "steelyard diff --raw" in result.err) == (
            verdict or True
        )


@pytest.mark.parametrize("payload", [b"a\tb", "naïve ✓ 👩‍🚀".encode(), b"caf\xe9", b"one\r\ntwo"])
def test_a_change_without_control_characters_is_piped_byte_for_byte(
    folder_of: Callable[[bytes], Path], tmp_path: Path, payload: bytes
) -> None:
    folder = folder_of(payload)
    result = run_command("diff", folder, cwd=tmp_path)
    assert (result.stdout, result.stderr) == ((folder / "patch.diff").read_bytes(), b"")
