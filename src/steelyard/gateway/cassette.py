"""A folder of recorded answers -> the same answers again, found by the content of the conversation.

    DIR/TRIAL/cassette.json   {"schema": "steelyard.cassette/1", "contract", "agent", "repeat"}
    DIR/TRIAL/0001.json       {"request": {"provider", "wire", "path", "model", "body"}, "match": "<sha256>",
                               "response": {"status", "headers", "events": ["data: {...}", ...]} or "body": {...}}

One file for each exchange, to be read and reviewed. Real keys, the placeholder of the run and its secrets are not in it.
Answers of an overloaded server and answers that broke off are not recorded: the client asks the same again. A cassette takes at
most `MOST_BYTES`; from the first exchange on that does not fit nothing is recorded, and `cassette.json` has `incomplete`: why.

In a replay a request gets the answer that was recorded for the same conversation; the same conversation asked several times
gets the answers in their order, and the last one again. A request that was not recorded is an error that names the nearest
one and the first difference.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from steelyard.errors import OperatorFault
from steelyard.evidence.redact import NO_SECRETS, Secrets
from steelyard.filesystem.plain_file import read_plain
from steelyard.gateway.conversation import conversation_of, first_difference
from steelyard.gateway.records import KeptBytes
from steelyard.providers.endpoints import Endpoint
from steelyard.providers.requests import ModelRequest

SCHEMA = "steelyard.cassette/1"
INDEX = "cassette.json"
_OPTIONS = orjson.OPT_INDENT_2
_KEPT_HEADERS = ("content-type",)
MOST_BYTES = 1 << 30  # each exchange has its whole conversation, so a long one takes the square of its length


class CassetteMiss(Exception):
    """No recorded request matches."""


class _RecordedCall(NamedTuple):
    name: str
    content: Any
    wire: str
    status: int
    headers: Mapping[str, str]
    parts: list[bytes]  # the body, as it is sent


class CassetteWriter:
    """Records the exchanges of one trial."""

    def __init__(
        self,
        folder: Path,
        index: Mapping[str, Any],
        placeholders: Mapping[str, str],
        secrets: Secrets = NO_SECRETS,
    ) -> None:
        self._folder = folder
        self._placeholders = placeholders  # texts of this run -> names
        self._secrets = secrets
        self._count = 0
        self._index = {"schema": SCHEMA, **index}
        self._room = MOST_BYTES
        if folder.exists():
            shutil.rmtree(folder)  # of an attempt that the machine spoiled
        folder.mkdir(parents=True)
        (folder / INDEX).write_bytes(self._safe(self._index))

    def keep(self, request: ModelRequest, status: int, headers: Mapping[str, str], kept: KeptBytes) -> str:
        """Why the recording ends with this exchange, which is not kept; otherwise nothing."""
        if self._room <= 0:
            return ""
        self._count += 1
        conversation = conversation_of(request, self._placeholders)
        response = {
            "status": status,
            "headers": {name: headers[name] for name in _KEPT_HEADERS if name in headers},
            **_body(kept.beginning, is_stream="event-stream" in headers.get("content-type", "")),
        }
        asked = {
            "provider": request.endpoint.provider,
            "wire": request.endpoint.wire,
            "path": request.endpoint.path,
            "model": request.model,
            "body": request.data,
        }
        entry = {"match": conversation.digest, "request": asked, "response": response}
        data = self._safe(entry)
        self._room -= len(data)
        if self._room > 0:
            (self._folder / f"{self._count:04d}.json").write_bytes(data)
            return ""
        why = f"exchange {self._count} does not fit into the {MOST_BYTES:,} bytes of a cassette"
        (self._folder / INDEX).write_bytes(self._safe({**self._index, "incomplete": why}))
        return why

    def _safe(self, entry: Mapping[str, Any]) -> bytes:
        """As JSON, without secrets."""
        data = self._secrets.redact(orjson.dumps(entry, option=_OPTIONS))
        for value, placeholder in self._placeholders.items():
            data = data.replace(value.encode(), placeholder.encode())
        return data + b"\n"


class CassettePlayer:
    """Answers the requests of one trial."""

    def __init__(self, folder: Path, placeholders: Mapping[str, str]) -> None:
        self.folder = folder
        self._placeholders = placeholders
        self._by_digest: dict[str, list[_RecordedCall]] = {}
        self._all: list[_RecordedCall] = []
        self._incomplete = _incomplete(folder / INDEX)
        for path in sorted(folder.glob("[0-9]*.json")):
            self._load(path)

    def _load(self, path: Path) -> None:
        try:
            entry = orjson.loads(read_plain(path))
            asked, response = entry["request"], entry["response"]
            endpoint = Endpoint(asked["provider"], asked["wire"], asked["path"])
            request = ModelRequest(endpoint, b"", asked["body"], model=asked["model"])
            conversation = conversation_of(request, self._placeholders)
            recorded = _RecordedCall(
                path.name,
                conversation.content,
                asked["wire"],
                _status(response["status"]),
                _headers(response["headers"]),
                _parts(response),
            )
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            why = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise OperatorFault(f"--replay: {path} is not a recorded exchange: {why}") from error
        self._all.append(recorded)
        self._by_digest.setdefault(conversation.digest, []).append(recorded)

    def find(self, request: ModelRequest) -> _RecordedCall:
        """The next answer to this conversation; raises CassetteMiss."""
        conversation = conversation_of(request, self._placeholders)
        answers = self._by_digest.get(conversation.digest)
        if answers:
            return answers.pop(0) if len(answers) > 1 else answers[0]
        raise CassetteMiss(self._nearest(request.endpoint.wire, conversation.content))

    def _nearest(self, wire: str, content: Mapping[str, Any]) -> str:
        asked = orjson.dumps(content)
        same = [one for one in self._all if one.wire == wire]
        if not same:
            return f"no request in the format {wire!r} was recorded{self._incomplete}"
        best = max(same, key=lambda one: _common(orjson.dumps(one.content), asked))
        difference = first_difference(best.content, content)
        return f"the nearest recorded request is {best.name}; the first difference is {difference}{self._incomplete}"


def _incomplete(index: Path) -> str:
    """What a miss says about a recording that came to its limit."""
    try:
        why = orjson.loads(index.read_bytes()).get("incomplete")
    except (OSError, ValueError, AttributeError):
        return ""
    return f"; the recording is incomplete: {why}" if why else ""


def _common(one: bytes, other: bytes) -> int:
    """How long two texts are the same."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _body(data: bytes, *, is_stream: bool) -> dict[str, Any]:
    """As JSON where it is JSON that is written the same way again, so that no byte changes in a replay."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
    if is_stream:
        return {"events": [part for part in _events(text) if part]}
    return {"body": text}


def _events(text: str) -> list[str]:
    parts = text.split("\n\n")
    return [f"{part}\n\n" for part in parts[:-1]] + [parts[-1]]


def _status(value: Any) -> int:
    if type(value) is not int or not 200 <= value <= 599:
        raise ValueError(f"response.status is {value!r}, not a status of HTTP")
    return value


def _headers(value: Any) -> Mapping[str, str]:
    """Those that a recording keeps; others would steer the client or the connection."""
    headers = {str(name).lower(): text for name, text in dict(value).items()}
    kept = {name: headers[name] for name in _KEPT_HEADERS if name in headers}
    if not all(isinstance(text, str) and text.isprintable() for text in kept.values()):
        raise ValueError("response.headers has a value that is not one line of text")
    return kept


def _parts(response: Mapping[str, Any]) -> list[bytes]:
    if "base64" in response:
        return [base64.b64decode(response["base64"], validate=True)]
    if "events" in response:
        return [one.encode() for one in response["events"]]
    return [str(response.get("body", "")).encode()]


def folder_of(root: Path, trial: str) -> Path:
    """Where the cassette of a trial lies: under its id, or, where there is only one, the one that there is."""
    if (root / trial / INDEX).is_file():
        return root / trial
    if (root / INDEX).is_file():
        return root
    found = sorted(one.parent for one in root.glob(f"*/{INDEX}"))
    if len(found) == 1:
        return found[0]
    known = f"it has {len(found)} others" if found else f"no {INDEX} is in it"
    raise OperatorFault(f"--replay {root}: no cassette of the trial {trial}; {known}")


def check_record(root: Path) -> None:
    """Raises OperatorFault for a folder that has something in it: a recording costs money and is not overwritten."""
    if root.exists() and (not root.is_dir() or any(root.iterdir())):
        raise OperatorFault(f"--record {root}: there is something already; name a new folder")


def check_replay(root: Path) -> None:
    """Raises OperatorFault for a folder without a cassette."""
    if not any(root.glob(f"*/{INDEX}")) and not (root / INDEX).is_file():
        raise OperatorFault(f"--replay {root}: no cassette is there; `--record {root}` makes one")
