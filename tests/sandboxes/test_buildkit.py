"""Dockerfiles with here-documents and mounts become Dockerfiles that every engine builds."""

from __future__ import annotations

import json
import subprocess

import pytest

from steelyard.sandboxes.docker.buildkit import NeedsBuildKitError, plain_dockerfile


def rewritten(text: str) -> list[str]:
    return plain_dockerfile(f"FROM x\n{text}\n").text.splitlines()[1:]


def run_of(line: str) -> list[str]:
    words: list[str] = json.loads(line.removeprefix("RUN "))
    return words


PLAIN = """# syntax=docker/dockerfile:1
FROM debian:12 AS a
ARG X=1
RUN apt-get update && \\
    # a comment
    apt-get install -y gcc
RUN echo $((1 << 3)) && cat <<< word
COPY --from=a x /y
RUN ["a", "b"]
"""


def test_a_dockerfile_without_such_syntax_is_unchanged() -> None:
    assert plain_dockerfile(PLAIN) == (PLAIN, {})


def test_a_script_in_a_here_document_is_one_command() -> None:
    (line,) = rewritten("RUN <<EOF\nset -e\necho 'a  b'\n\nFROM nothing\nEOF")
    assert run_of(line) == ["/bin/sh", "-c", "set -e\necho 'a  b'\n\nFROM nothing\n"]


def test_a_script_runs_in_the_shell_of_the_dockerfile() -> None:
    _, line = rewritten('SHELL ["/bin/bash", "-ec"]\nRUN <<EOF\nx\nEOF')
    assert run_of(line) == ["/bin/bash", "-ec", "x\n"]


@pytest.mark.parametrize("name", ["EOF", "'EOF'", '"EOF"'])
def test_a_here_document_of_a_command_is_the_shells(name: str) -> None:
    (line,) = rewritten(f"RUN cat <<{name} && \\\n  echo done\nx=$HOME\nEOF")
    assert run_of(line) == ["/bin/sh", "-c", f"cat <<{name} &&  echo done\nx=$HOME\nEOF\n"]
    result = subprocess.run(
        run_of(line), check=True, capture_output=True, text=True, env={"HOME": "/h"}
    ).stdout
    assert result == ("x=/h\ndone\n" if name == "EOF" else "x=$HOME\ndone\n")


def test_a_script_with_its_own_interpreter_is_run_by_it() -> None:
    (line,) = rewritten("RUN <<EOF\n#!/usr/bin/env python3\nprint('from python')\nEOF")
    result = subprocess.run(run_of(line), check=True, capture_output=True, text=True).stdout
    assert result == "from python\n"


def test_leading_tabs_are_taken_off_where_the_author_says_so() -> None:
    (line,) = rewritten("RUN <<-EOF\n\techo a\n\tEOF")
    assert run_of(line) == ["/bin/sh", "-c", "echo a\n"]


def test_files_in_here_documents_come_with_the_context() -> None:
    text = (
        "FROM x\nENV A=1 B='two words'\nCOPY --chown=1 <<EOF <<'RAW' /app/\na=$A b=${B} \\$c\nEOF\n$A\nRAW\n"
    )
    plain = plain_dockerfile(text)
    one, two = ".steelyard-heredoc-1/EOF", ".steelyard-heredoc-2/RAW"
    assert plain.text.splitlines()[-1] == f"COPY --chown=1 {one} {two} /app/"
    assert plain.files == {one: b"a=1 b=two words $c\n", two: b"$A\n"}


def test_caches_become_folders_of_the_image() -> None:
    lines = rewritten(
        "RUN --mount=type=cache,target=/root/.cache --mount=type=tmpfs,target=/t \\\n pip install x"
    )
    assert lines == [
        'RUN ["/bin/sh", "-c", "mkdir -p /root/.cache 2>/dev/null || true"]',
        'RUN ["/bin/sh", "-c", "mkdir -p /t 2>/dev/null || true"]',
        "RUN pip install x",
    ]


def test_a_bound_file_is_copied_and_removed() -> None:
    lines = rewritten(
        "USER ann\nRUN --mount=type=bind,source=req.txt,target=/tmp/req.txt pip install -r /tmp/req.txt"
    )
    assert lines == [
        "USER ann",
        'COPY ["req.txt", "/tmp/req.txt"]',
        "RUN pip install -r /tmp/req.txt",
        "USER 0",
        'RUN ["/bin/sh", "-c", "rm -rf /tmp/req.txt"]',
        "USER ann",
    ]


def test_an_optional_secret_is_not_there() -> None:
    assert rewritten("RUN --mount=type=secret,id=a make") == ["RUN make"]


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("RUN --mount=type=ssh git clone x", "line 2 of the Dockerfile: --mount=type=ssh needs BuildKit"),
        ("RUN --mount=type=secret,id=a,required=true x", "needs BuildKit"),
        ("RUN --mount=type=bind,target=. make", "needs BuildKit"),
        ("RUN --network=none make", "--network=none needs BuildKit"),
        ("RUN <<EOF\nx", "here-document EOF never ends"),
        ("COPY <<EOF /x\n$HOME\nEOF", "only BuildKit knows \\$HOME"),
    ],
)
def test_what_cannot_be_said_without_buildkit_is_refused_with_its_line(text: str, result: str) -> None:
    with pytest.raises(NeedsBuildKitError, match=result):
        rewritten(text)
