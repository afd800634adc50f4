"""Files of a task -> data, each with a bound, and with the place of every key; their names -> names in a contract's folder.

task.toml, case.yaml, one row of JSON -> Source(file, data, positions), as for a contract of our own.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from steelyard.contract.parse.explain import explain, known_keys
from steelyard.contract.parse.files import bad_name, inside
from steelyard.contract.parse.yaml_source import MOST_BYTES, MOST_DEPTH, Source, YamlPath, dotted_path
from steelyard.deferred import model as models
from steelyard.errors import ContractFault, Problem
from steelyard.filesystem.tree import printable

if TYPE_CHECKING:
    from pydantic import BaseModel

MOST_FILE_BYTES = 64 << 20
_HEADER = re.compile(r"^\s*\[\[?\s*([A-Za-z0-9_.\-]+)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*([A-Za-z0-9_.\-]+)\s*=")

Model = TypeVar("Model", bound="BaseModel")


class UnsupportedKey(NamedTuple):
    """A key that other people's tools obey and a contract cannot."""

    place: YamlPath
    why: str
    refused: Callable[[Any], bool] = bool  # an empty list asks for nothing
    fix: str = ""


def fault(where: str, field: str, message: str, fix: str = "") -> ContractFault:
    return ContractFault(Problem(where, field, message, fix))


def plain_name(name: str, where: str, field: str) -> str:
    """`./hidden/x.py` -> `hidden/x.py`; absolute names and `..` are refused."""
    if reason := bad_name(name):
        raise fault(where, field, f"{printable(name)} {reason.replace('the contract', 'the task')}")
    return posixpath.normpath(name)


def existing_file(folder: Path, name: str, where: str, field: str) -> Path:
    path = folder / plain_name(name, where, field)
    if not path.exists():
        raise fault(where, field, f"{printable(name)} does not exist")
    return path


def read_bytes(folder: Path, name: str, limit: int = MOST_FILE_BYTES) -> bytes:
    """A file inside `folder`, whatever links are on the way; never a device, never more than `limit`."""
    where = f"{folder}/{name}"
    try:
        return read_file(inside(folder, name), limit)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise fault(printable(where), "", str(reason)) from error


def read_file(path: Path, limit: int = MOST_FILE_BYTES) -> bytes:
    """Raises OSError or ValueError with the reason."""
    # O_NONBLOCK: a FIFO must not hang us
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("is not a file")
        raw = file.read(limit + 1)
    if len(raw) > limit:
        raise ValueError(f"is larger than {limit >> 20} MiB")
    return raw


def read_text(folder: Path, name: str, limit: int = MOST_BYTES) -> str:
    try:
        return read_bytes(folder, name, limit).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise fault(printable(f"{folder}/{name}"), "", "is not UTF-8 text") from error


def read_toml(folder: Path, name: str) -> Source:
    where, text = f"{folder}/{name}", read_text(folder, name)
    try:
        data = tomllib.loads(text)
        plain = json.loads(json.dumps(data, default=str, allow_nan=False))  # dates become text
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
        place = f"{where}:{found[1]}:{found[2]}" if found else where
        message = re.sub(r" \(at line .*\)$", "", str(error)) or "nested too deep"
        raise fault(printable(place), "", f"not valid TOML: {message}") from error
    return Source(where, plain, toml_positions(text, plain, where))


def toml_positions(text: str, data: Mapping[str, Any], file: str) -> dict[YamlPath, str]:
    """Where tables and keys are, for those on a line of their own; the parser itself does not tell."""
    found: dict[YamlPath, str] = {}
    table: YamlPath = ()
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = place = tuple(header[1].split("."))
        elif key := _KEY.match(line):
            place = (*table, *key[1].split("."))
        else:
            continue
        if _has(data, place):  # and not a line of a text
            found.setdefault(place, f"{file}:{number}:{len(line) - len(line.lstrip()) + 1}")
    return found


def _has(data: Any, place: YamlPath) -> bool:
    for part in place:
        data = data[0] if isinstance(data, list) and data else data
        if not isinstance(data, dict) or part not in data:
            return False
        data = data[part]
    return True


def strict_json(raw: bytes | str) -> Any:
    """What JSON says; raises ValueError for keys that are there twice and numbers that are none."""
    try:
        return json.loads(raw, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for number, (key, _) in enumerate(pairs) if key in dict(pairs[:number]))
        raise ValueError(f"the key {printable(twice)} is there twice")
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a number of JSON")


def _unsound(source: Source) -> Problem | None:
    """What JSON can hold and a contract cannot: half a character, or a depth that breaks a recursive reader."""
    pending: list[tuple[YamlPath, Any]] = [((), source.data)]
    while pending:
        place, value = pending.pop()
        if len(place) > MOST_DEPTH:
            return Problem(source.where(place[:1]), dotted_path(place[:1]), "nested too deep")
        if isinstance(value, str) and any("\ud800" <= char <= "\udfff" for char in value):
            return Problem(source.where(place), dotted_path(place), "has half a character (a lone surrogate)")
        if isinstance(value, dict):
            pending += [((*place, key), inner) for key, inner in value.items()]
        elif isinstance(value, list):
            pending += [((*place, number), inner) for number, inner in enumerate(value)]
    return None


def read_model(source: Source, model: type[Model], unsupported: Iterable[UnsupportedKey] = ()) -> Model:
    """The data as the model has it; every unknown, wrong or unsupported key at once."""
    if (unsound := _unsound(source)) is not None:
        raise ContractFault(unsound)
    problems = [
        Problem(source.where(row.place), dotted_path(row.place), row.why, row.fix)
        for row in unsupported
        if row.refused(_value(source.data, row.place))
    ]
    try:
        found = model.model_validate_json(json.dumps(source.data))
    except models.ValidationError as refused:
        problems += explain(refused, source, partial(known_keys, model))
    if problems:
        raise ContractFault(problems)
    return found


def _value(data: Any, place: YamlPath) -> Any:
    for part in place:
        if isinstance(part, int) and isinstance(data, list) and part < len(data):
            data = data[part]
        elif isinstance(data, dict):
            data = data.get(str(part))
        else:
            return None
    return data
