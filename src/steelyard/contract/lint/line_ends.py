"""The first line of a script -> whether a kernel or a shell can make sense of it.

`#!/bin/bash` followed by CR LF asks for a program called `/bin/bash<CR>`, which no machine has.
"""

from __future__ import annotations

import posixpath

CRLF = "has Windows line endings (CR LF), so it cannot be executed; `sed -i 's/\\r$//'` removes them"


def ends_in_crlf(first_line: bytes) -> bool:
    return first_line.endswith(b"\r\n") or (first_line.startswith(b"#!") and b"\r" in first_line)


def interpreters(first_line: str) -> tuple[str, ...]:
    """`#!/usr/bin/env python3` needs both words; options and variables name no program."""
    words = first_line.removeprefix("#!").split()
    if words and posixpath.basename(words[0]) == "env":
        return (words[0], *(word for word in words[1:2] if word[0] != "-" and "=" not in word))
    return tuple(words[:1])
