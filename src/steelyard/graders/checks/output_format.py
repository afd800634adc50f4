"""Whether an output file is what it was declared to be: it parses, and it has the shape that was asked for."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, NamedTuple

import yaml

from steelyard.contract.model import NonEmpty
from steelyard.deferred.model import ConfigDict

Format = Literal["json", "csv", "yaml", "text"]
MAX_OUTPUT_BYTES = 16 << 20
SHOWN = 300


@dataclass(frozen=True)
class Output:
    """What the output file must be: `{format: json, schema: answer.schema.json}`, `{format: text, pattern: "^ok"}`."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    format: Format = "text"
    pattern: NonEmpty | None = None
    schema: NonEmpty | None = None  # a JSON Schema among the contract's files


# What a file can raise in a parser; of a tag that does not fit its value, yaml raises whatever comes of it.
_UNREADABLE = (ValueError, RecursionError, LookupError, TypeError, AttributeError, csv.Error, yaml.YAMLError)
_SUFFIXES: Mapping[str, Format] = {".json": "json", ".csv": "csv", ".yaml": "yaml", ".yml": "yaml"}


def format_of_name(path: str) -> Format | None:
    """The format that a file's suffix names; None where the suffix names none that can be checked."""
    return _SUFFIXES.get(PurePosixPath(path).suffix.lower())


MISSING_OUTPUT = "the output file is missing"


class OutputDiagnosis(NamedTuple):
    parseable: bool
    schema_valid: bool
    errors: tuple[str, ...] = ()


def look(data: bytes | None, declared: Output, schema: bytes | None) -> OutputDiagnosis:
    """Diagnosis of an untrusted file; nothing that is in it can raise here."""
    if data is None:
        return OutputDiagnosis(parseable=False, schema_valid=False, errors=(MISSING_OUTPUT,))
    if len(data) > MAX_OUTPUT_BYTES:
        return OutputDiagnosis(parseable=False, schema_valid=False, errors=("the output file is too large",))
    try:
        text = data.decode("utf-8")
        value = _parse(text, declared.format)
    except _UNREADABLE as error:
        why = f"not {declared.format}: {str(error).splitlines()[0] if str(error) else error!r}"
        return OutputDiagnosis(parseable=False, schema_valid=False, errors=(why[:SHOWN],))
    errors = _shape(text, value, declared, schema)
    return OutputDiagnosis(parseable=True, schema_valid=not errors, errors=errors)


def _parse(text: str, kind: Format) -> Any:
    if kind == "json":
        return json.loads(text)
    if kind == "yaml":
        if re.search(r"(^|\s)[&*][^\s]", text):
            raise ValueError("anchors and aliases are not accepted")  # a few lines of them are gigabytes
        return yaml.safe_load(text)
    if kind == "csv":
        return _rows(text)
    return text


def _rows(text: str) -> list[list[str]]:
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    if not rows:
        raise ValueError("no row")
    uneven = next((number for number, row in enumerate(rows, 1) if len(row) != len(rows[0])), None)
    if uneven is not None:
        raise ValueError(f"row {uneven} has {len(rows[uneven - 1])} fields, the first {len(rows[0])}")
    return rows


def _shape(text: str, value: Any, declared: Output, schema: bytes | None) -> tuple[str, ...]:
    if declared.pattern is not None and not re.search(declared.pattern, text[: 1 << 16]):
        return (f"does not match {declared.pattern!r}",)
    if schema is None:
        return ()
    import jsonschema  # noqa: PLC0415  # heavy, and few contracts have a schema

    validator = jsonschema.Draft202012Validator(json.loads(schema))
    try:
        found = next(validator.iter_errors(value), None)
    except RecursionError:
        return ("nested too deep for its schema",)
    if found is None:
        return ()
    # A key may have half of a character, which no record can hold.
    return (f"{found.json_path}: {found.message}".encode(errors="replace").decode()[:SHOWN],)
