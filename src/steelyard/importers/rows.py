"""JSON, JSON Lines or Parquet -> rows, each with its place.

rows.jsonl:7     one object a line
rows.json[3]     a list of objects, or an object that holds them under one key
rows.parquet[3]  with pyarrow, which steelyard[parquet] brings
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from steelyard.errors import ContractFault, OperatorFault
from steelyard.filesystem.tree import printable
from steelyard.importers.reading import fault, read_file, strict_json

MOST_LINE_BYTES = 64 << 20
MOST_JSON_BYTES = 512 << 20
SUFFIXES = (".jsonl", ".ndjson", ".json", ".parquet")


class LocatedRow(NamedTuple):
    """A row, or why there is none."""

    where: str
    row: dict[str, Any] | None
    fault: ContractFault | None = None


def read_rows(path: Path) -> Iterator[LocatedRow]:
    try:
        if path.suffix == ".parquet":
            yield from _parquet(path)
        elif path.suffix == ".json":
            yield from _listed(path)
        else:
            yield from _lines(path)
    except OSError as error:
        raise OperatorFault(f"{path}: {error.strerror}") from error


def _lines(path: Path) -> Iterator[LocatedRow]:
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MOST_LINE_BYTES + 1):
            number += 1
            where = f"{path}:{number}"
            if len(line) > MOST_LINE_BYTES:
                raise fault(where, "", f"a line of more than {MOST_LINE_BYTES >> 20} MiB")
            if line.strip():
                yield _row(where, line)


def _row(where: str, line: bytes) -> LocatedRow:
    try:
        return _object(where, strict_json(line.decode("utf-8-sig")))
    except UnicodeDecodeError:
        return LocatedRow(where, None, fault(where, "", "not a line of JSON: it is not UTF-8 text"))
    except ValueError as error:
        return LocatedRow(where, None, fault(where, "", f"not a line of JSON: {printable(str(error))}"))


def _listed(path: Path) -> Iterator[LocatedRow]:
    try:
        data = strict_json(read_file(path, MOST_JSON_BYTES))
    except ValueError as error:
        raise fault(str(path), "", f"not JSON: {printable(str(error))}") from error
    if isinstance(data, dict) and "instance_id" in data:
        data = [data]
    if not isinstance(data, list):
        raise fault(
            str(path), "", "expected a list of rows", "one object a line is JSON Lines: name it .jsonl"
        )
    for number, row in enumerate(data):
        yield _object(f"{path}[{number}]", row)


def _parquet(path: Path) -> Iterator[LocatedRow]:
    try:
        import pyarrow.parquet  # noqa: PLC0415  # large, and for this format only
    except ImportError as error:
        fix = "pip install 'steelyard[parquet]', or save the rows as JSON Lines"
        raise OperatorFault(f"{path}: reading Parquet needs pyarrow ({fix})") from error
    try:
        number = 0
        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(batch_size=64):
            for row in batch.to_pylist():
                yield _object(f"{path}[{number}]", {key: _plain(value) for key, value in row.items()})
                number += 1
    except (pyarrow.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # the file's trouble; broken contents have no number
            raise
        raise fault(str(path), "", f"not Parquet: {printable(str(error))}") from error


def _plain(value: Any) -> Any:
    """As JSON would say it: a column of dates is a column of texts."""
    return value.isoformat() if isinstance(value, date) else value


def _object(where: str, row: Any) -> LocatedRow:
    if isinstance(row, dict):
        return LocatedRow(where, row)
    return LocatedRow(where, None, fault(where, "", "a row is an object with keys"))
