"""Grades of a sealed run -> `gradings/0001.json`, `0002.json` ...: appended, never rewritten.

    {"number": 2, "seal": "<digest of the seal>", "previous": "<sha256 of gradings/0001.json>", ...}

The first is the result of record. Each names the seal it judges and the bytes of the one before it.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from steelyard.errors import OperatorFault
from steelyard.evidence.folder import GRADINGS, SEAL, TEMPORARY, RunFolder, sync_directory, write_atomic
from steelyard.evidence.plain_file import read_plain

_NUMBERED = re.compile(r"\d{4,8}\.json")


def grading_files(folder: RunFolder) -> list[Path]:
    root = folder.file(GRADINGS)
    paths = root.iterdir() if root.is_dir() else ()
    return sorted((path for path in paths if _NUMBERED.fullmatch(path.name)), key=lambda path: int(path.stem))


def read_gradings(folder: RunFolder) -> list[dict[str, Any]]:
    return [orjson.loads(read_plain(path)) for path in grading_files(folder)]


def append_grading(folder: RunFolder, data: Mapping[str, Any]) -> Path:
    """Write the next grading; two writers at once get two numbers."""
    if folder.state != "sealed":
        raise OperatorFault(f"{folder.run_id} is not sealed, so it cannot be graded")
    seal = folder.read_json(SEAL)["digest"]
    root = folder.file(GRADINGS)
    root.mkdir(mode=0o700, exist_ok=True)
    while True:
        files = grading_files(folder)
        number = int(files[-1].stem) + 1 if files else 1
        previous = hashlib.sha256(read_plain(files[-1])).hexdigest() if files else ""
        chained = {**data, "number": number, "seal": seal, "previous": previous}
        target = root / f"{number:04d}.json"
        if _write_new(target, chained):
            return target


def _write_new(target: Path, data: Mapping[str, Any]) -> bool:
    options = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    temporary = target.with_name(f"{TEMPORARY}{secrets.token_hex(8)}.new")
    write_atomic(temporary, orjson.dumps(data, option=options), durable=True)
    try:
        os.link(temporary, target)  # refuses to replace, unlike rename
    except FileExistsError:
        return False
    finally:
        temporary.unlink()
    sync_directory(target.parent)
    return True
