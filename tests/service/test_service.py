"""Grading over HTTP: the same result lines as `grade`, each pair graded once, and only for those who may ask."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, UnixConnector
from aiohttp.test_utils import TestClient, TestServer

from authoring import Author
from steelyard import Grader
from steelyard.api import load_contract
from steelyard.contract.contract import Contract
from steelyard.evidence.folder.folder import find_runs
from steelyard.service.access import Access
from steelyard.service.server import Service

PATCH = (
    "diff --git a/add.sh b/add.sh\n--- a/add.sh\n+++ b/add.sh\n@@ -1 +1 @@\n"
    "-echo $(($1 - $2))\n+echo $(($1 + $2))\n"
)
WRONG = PATCH.replace("$1 + $2", "$1 * $2")
TOKEN = "correct horse battery"  # noqa: S105  # of no account
Ask = Callable[[TestClient[Any, Any]], Awaitable[Any]]


@pytest.fixture
def contract(author: Author, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Contract:
    monkeypatch.setenv("STEELYARD_CACHE", str(cache))
    return load_contract(author.write())


class SlowGrader(Grader):
    """Grades nothing until it is let go."""

    def __init__(self, out: Path) -> None:
        super().__init__(out, jobs=2)
        self.go = asyncio.Event()
        self.asked = 0

    async def grade(self, contract: Contract, patch: bytes | str) -> dict[str, Any]:
        self.asked += 1
        await self.go.wait()
        return {"contract": contract.id, "bytes": len(patch)}


class FullDisk(SlowGrader):
    """Grades empty patches; for any other there is no room on the disk."""

    async def grade(self, contract: Contract, patch: bytes | str) -> dict[str, Any]:
        if patch:
            raise OSError(28, "No space left on device")
        return {"contract": contract.id}


class Defective(SlowGrader):
    """Grades empty patches; any other meets a defect of Steelyard."""

    async def grade(self, contract: Contract, patch: bytes | str) -> dict[str, Any]:
        known: dict[bytes | str, str] = {b"": "pass"}
        return {"contract": contract.id, "verdict": known[patch]}


def ask(service: Service, question: Ask) -> Any:
    async def go() -> Any:
        async with TestClient(TestServer(service.app())) as client:
            return await question(client)

    return asyncio.run(go())


async def read(response: ClientResponse) -> tuple[int, Any]:
    return response.status, await response.json()


def test_a_patch_gets_the_result_line_of_grade_and_is_graded_once(contract: Contract, tmp_path: Path) -> None:
    grader = Grader(tmp_path / "runs", jobs=2)

    async def question(client: TestClient[Any, Any]) -> list[dict[str, Any]]:
        item = {"contract": "sum", "patch": PATCH}
        one = await read(await client.post("/grade", json=item))
        again = await read(await client.post("/grade", json={**item, "contract": contract.digest}))
        other = await read(await client.post("/grade", json={**item, "patch": WRONG}))
        return [one[1], again[1], other[1]]

    lines = ask(Service.of(grader, [contract], Access(is_local=True)), question)
    grader.close()
    assert [line["verdict"] for line in lines] == ["pass", "pass", "fail"]
    assert lines[0]["run"] == lines[1]["run"]
    assert len(find_runs(tmp_path / "runs")) == 2


def test_a_later_grader_answers_from_the_records(contract: Contract, tmp_path: Path) -> None:
    async def grade() -> list[dict[str, Any]]:
        async with Grader(tmp_path / "runs", jobs=2) as grader:
            return await grader.grade_many([(contract, PATCH), (contract, PATCH), (contract, b"")])

    first, second = asyncio.run(grade()), asyncio.run(grade())
    assert [line["run"] for line in first] == [line["run"] for line in second]
    assert [line["verdict"] for line in first] == ["pass", "pass", "fail"]
    assert len(find_runs(tmp_path / "runs")) == 2


def test_an_altered_record_is_not_answered_again(contract: Contract, tmp_path: Path) -> None:
    async def grade() -> dict[str, Any]:
        async with Grader(tmp_path / "runs") as grader:
            return await grader.grade(contract, WRONG)

    first = asyncio.run(grade())
    grading = Path(first["folder"], "gradings/0001.json")
    grading.write_text(grading.read_text().replace('"fail"', '"pass"'))
    second = asyncio.run(grade())
    assert (second["verdict"], second["run"] != first["run"]) == ("fail", True)


def test_a_full_queue_answers_429_with_a_time(contract: Contract, tmp_path: Path) -> None:
    async def question(client: TestClient[Any, Any]) -> tuple[int, str, list[int]]:
        item = {"contract": "sum", "patch": PATCH}
        waiting = [asyncio.ensure_future(client.post("/grade", json=item)) for _ in range(2)]
        while grader.asked < 2:  # noqa: ASYNC110  # the grader is asked from a handler
            await asyncio.sleep(0.01)
        refused = await client.post("/grade", json=item)
        grader.go.set()
        return refused.status, refused.headers["Retry-After"], [(await one).status for one in waiting]

    grader = SlowGrader(tmp_path / "runs")
    status, retry, others = ask(Service.of(grader, [contract], Access(is_local=True), room=2), question)
    grader.close()
    assert (status, int(retry) >= 1, others) == (429, True, [200, 200])


def test_a_batch_is_answered_line_by_line(contract: Contract, tmp_path: Path) -> None:
    async def question(client: TestClient[Any, Any]) -> tuple[int, list[bytes]]:
        grader.go.set()
        items = [{"contract": "sum", "patch": "x" * size} for size in range(5)]
        response = await client.post("/grade/batch", json={"items": items})
        return response.status, (await response.read()).splitlines()

    grader = SlowGrader(tmp_path / "runs")
    status, lines = ask(Service.of(grader, [contract], Access(is_local=True), room=5), question)
    grader.close()
    assert (status, len(lines)) == (200, 5)


def test_a_machine_that_cannot_grade_answers_503_in_words(contract: Contract, tmp_path: Path) -> None:
    async def question(client: TestClient[Any, Any]) -> tuple[int, str, Any, list[Any], Any]:
        failed = await client.post("/grade", json={"contract": "sum", "patch": PATCH})
        items = [{"contract": "sum", "patch": patch} for patch in (PATCH, "")]
        batch = await client.post("/grade/batch", json={"items": items})
        lines = [json.loads(line) for line in (await batch.read()).splitlines()]
        health = await (await client.get("/health")).json()
        return failed.status, failed.headers["Retry-After"], await failed.json(), lines, health

    grader = FullDisk(tmp_path / "runs")
    status, retry, answer, lines, health = ask(
        Service.of(grader, [contract], Access(is_local=True), room=2), question
    )
    grader.close()
    words = "this patch was not graded: [Errno 28] No space left on device"
    assert (status, retry, answer) == (503, "30", {"error": words})
    assert sorted(lines, key=lambda line: line["item"]) == [
        {"item": 0, "error": words},
        {"item": 1, "result": {"contract": "sum"}},
    ]
    assert health["waiting"] == 0


def test_a_defect_of_steelyard_answers_500_with_the_id_of_its_traceback(
    contract: Contract, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def question(client: TestClient[Any, Any]) -> tuple[int, Any, list[Any], Any]:
        failed = await client.post("/grade", json={"contract": "sum", "patch": PATCH})
        items = [{"contract": "sum", "patch": patch} for patch in (PATCH, "")]
        batch = await client.post("/grade/batch", json={"items": items})
        lines = [json.loads(line) for line in (await batch.read()).splitlines()]
        health = await (await client.get("/health")).json()
        return failed.status, await failed.json(), lines, health

    grader = Defective(tmp_path / "runs")
    status, answer, lines, health = ask(Service.of(grader, [contract], Access(is_local=True)), question)
    grader.close()
    lines.sort(key=lambda line: line["item"])
    logged = capsys.readouterr().err
    assert (status, lines[1]["result"]["contract"], health["waiting"]) == (500, "sum", 0)
    for line in (answer, lines[0]):
        assert line["id"] in line["error"]
        assert "diff" not in line["error"]
        assert f"internal error {line['id']}" in logged
    assert logged.count("KeyError: b'diff --git") == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/grade", {"contract": "../../etc", "patch": ""}, 404),
        ("/grade", {"contract": "sum"}, 400),
        ("/grade", [], 400),
        ("/grade/batch", {"items": []}, 400),
        ("/grade/batch", {"items": [{}] * 65}, 413),
        ("/nowhere", {}, 404),
    ],
)
def test_a_wrong_request_is_refused(
    contract: Contract, tmp_path: Path, path: str, body: object, status: int
) -> None:
    async def question(client: TestClient[Any, Any]) -> int:
        return (await client.post(path, json=body)).status

    grader = SlowGrader(tmp_path / "runs")
    found = ask(Service.of(grader, [contract], Access(is_local=True)), question)
    grader.close()
    assert found == status


@pytest.mark.parametrize(
    ("access", "headers", "status"),
    [
        (Access(is_local=True), {"Host": "127.0.0.1:1"}, None),
        (Access(is_local=True), {"Host": "localhost"}, None),
        (Access(is_local=True), {"Host": "[::1]:80"}, None),
        (Access(is_local=True), {"Host": "evil.example"}, 403),
        (Access(is_local=True), {"Host": "127.0.0.1.evil.example"}, 403),
        (Access(is_local=True), {}, 403),
        (Access(is_local=True), {"Host": "localhost", "Origin": "http://localhost"}, 403),
        (Access(is_local=True), {"Host": "localhost", "Content-Type": "text/plain"}, 415),
        (Access(is_local=True, token=TOKEN), {"Host": "localhost"}, 401),
        (Access(is_local=False, token=TOKEN), {"Host": "grader.example"}, 401),
        (Access(is_local=False, token=TOKEN), {"Authorization": f"Bearer {TOKEN}x"}, 401),
        (Access(is_local=False, token=TOKEN), {"Authorization": f"Bearer {TOKEN}"}, None),
    ],
)
def test_only_those_who_may_ask_are_answered(
    access: Access, headers: dict[str, str], status: int | None
) -> None:
    refusal = access.refuse({"Content-Type": "application/json", **headers}, has_body=True)
    assert (None if refusal is None else refusal.status) == status


def test_the_command_serves_on_a_socket(author: Author, tmp_path: Path, cache: Path) -> None:
    import os
    import signal
    import subprocess
    import sys

    from aiohttp import ClientSession

    place = tmp_path / "s"
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "steelyard",
            "serve",
            str(author.write()),
            "--socket",
            str(place),
            "--runs",
            str(tmp_path / "r"),
        ],
        env={**os.environ, "STEELYARD_CACHE": str(cache)},
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert b"serving on" in process.stdout.readline()

    async def question() -> tuple[int, int]:
        async with ClientSession(connector=UnixConnector(str(place))) as session:
            health = await session.get("http://localhost/health")
            foreign = await session.get("http://evil.example/health")
            return health.status, foreign.status

    assert asyncio.run(question()) == (200, 403)
    assert place.stat().st_mode & 0o077 == 0
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


def test_another_address_than_loopback_needs_a_token(steelyard: Callable[..., Any], author: Author) -> None:
    result = steelyard("serve", author.write(), "--host", "0.0.0.0")  # noqa: S104  # it is refused
    assert (result.code, "STEELYARD_SERVE_TOKEN" in result.err) == (2, True)
