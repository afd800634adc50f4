"""The first error of a failed command is shown, not only the end of a long output."""

from __future__ import annotations

import pytest

from steelyard.sandboxes.first_error import LAST_CHARS, explain_failure

NOISE = "".join(f"collecting package number {number} of many\n" for number in range(200))


@pytest.mark.parametrize(
    "line",
    [
        "error: command 'gcc' failed: No such file or directory",
        "ERROR: Could not find a version that satisfies the requirement x==9",
        "      error: subprocess-exited-with-error",
        "main.c:3:1: error: expected ';'",
        "error[E0432]: unresolved import",
        "fatal: not a git repository",
        "npm ERR! code E404",
        "npm error code ENOENT",
        "E: Unable to locate package x",
        "ModuleNotFoundError: No module named 'setuptools'",
        "Error: Cannot find module 'x'",
        "/bin/sh: 1: cmake: not found",
        "bash: line 1: cargo: command not found",
        "cp: cannot stat 'x': No such file or directory",
        "make: *** [Makefile:2: all] Error 1",
    ],
)
def test_the_first_error_is_shown_before_the_end(line: str) -> None:
    result = explain_failure("", f"{NOISE}{line}\n{NOISE}the end\n")
    first, _, last = result.partition("\nlast lines:\n")
    assert first.splitlines()[:2] == ["first error:", line]
    assert last.endswith("the end")
    assert len(last) <= LAST_CHARS + 100


@pytest.mark.parametrize("line", ["0 errors", "building test_error.o", "no error here", "errors: none found"])
def test_words_about_errors_are_no_errors(line: str) -> None:
    assert "first error" not in explain_failure(f"{line}\n{NOISE}", "")


def test_an_error_on_stderr_comes_before_one_on_stdout() -> None:
    result = explain_failure(f"error: of stdout\n{NOISE}", f"error: of stderr\n{NOISE}")
    assert result.splitlines()[1] == "error: of stderr"


def test_a_short_output_is_shown_whole() -> None:
    assert explain_failure("one\n", "error: two\n") == "one\nerror: two"
    assert explain_failure("one", "two") == "one\ntwo"
    assert explain_failure("", "") == ""
