"""What a study adds to its trials and keeps in memory, what questions to the index cost, and grading over HTTP."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import subprocess
import sys
import time
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import sqlalchemy as sa
from aiohttp import ClientSession, UnixConnector, web

from benchmarks.measure import Measured, Variant, measure, ratio, timed
from benchmarks.sandbox import LIMITS
from benchmarks.workshop import Workshop
from steelyard.contract.contract import Contract
from steelyard.environment.prepare import Environment
from steelyard.evidence.folder.folder import RunFolder
from steelyard.filesystem.cache import Cache
from steelyard.plan.order import draw_order
from steelyard.plan.trial import Trial
from steelyard.report.stored.open_store import entries_of, open_store
from steelyard.sandboxes.base import Command, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.fake import Answer, FakeBackend
from steelyard.service.access import Access
from steelyard.service.grader import Grader
from steelyard.service.server import Service
from steelyard.store.query import Query
from steelyard.store.schema import LINES, RUNS, TAGS
from steelyard.store.store import Store
from steelyard.study.engine import Engine
from steelyard.study.protocol.folder import StudyFolder
from steelyard.study.protocol.make_plan import Wish, make_plan
from steelyard.study.protocol.run_study import Notice, Study, planned_trials

JOBS = 2
TRIALS = 30
STUDIES = (1_000, TRIALS)  # trials; what a study costs once is spread over them
ROWS_OF_INDEX = 1_000_000
FOLDERS = 100_000
CONTROLLED = 4_000  # trials of a simulated study
_BATCH = 20_000


def engine(workshop: Workshop) -> Iterator[Measured]:
    """A study of trivial trials: plan, gate, sandboxes, trace, capture, check, grade, seal, index."""
    contract = workshop.contract("trivial-study", {"README.md": "nothing\n"}, "true")
    backend, box = BubblewrapBackend(), SandboxSpec(layers=(contract.snapshot.tree,), limits=LIMITS)
    numbers = iter(range(1_000_000))

    def study(count: int) -> None:
        wish = Wish(
            f"b{next(numbers)}", [(contract, contract.folder)], ["mine=command:true"], repeats=count // 2
        )
        plan = make_plan(wish).named("x.csv")
        trials = list(planned_trials(plan, draw_order(plan), {contract.id: contract}))
        out = workshop.folder / "studies" / plan.name
        out.mkdir(parents=True)
        with open_store(out) as store:
            folder = StudyFolder.of(out, plan)
            outcome = Study(
                plan,
                trials,
                folder,
                store,
                entries_of,
                lambda gate: Engine(out, JOBS, gate=gate),
                forced=frozenset({"main"}),
            ).run()
        assert outcome.how == "complete", outcome

    def two_sandboxes(_: int) -> None:
        for _ in range(2):
            with backend.start(box) as sandbox:
                sandbox.run(Command(("/bin/sh", "-c", "true")))

    def bare(count: int) -> None:
        with ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(two_sandboxes, range(count)))

    for count, target in zip(STUDIES, (2, None), strict=True):
        variants = {
            "study": timed(functools.partial(study, count)),
            "sandboxes": timed(functools.partial(bare, count)),
        }
        rounds = measure(variants, workshop.rounds(3), warm_up=1)
        what = f"a study of {count:,} trivial trials, {JOBS} at a time, against their sandboxes and commands alone"
        yield Measured.of("study", what, rounds, ratio("study", "sandboxes"), target=target)


def index(workshop: Workshop) -> Iterator[Measured]:
    """Each kind of question that a listing or a report asks."""
    root = workshop.folder / "million"
    root.mkdir()
    with Store(root, _unread) as store:
        fill(store, ROWS_OF_INDEX)
        questions: dict[str, Callable[[], Any]] = {
            "the newest 100": lambda: store.query(Query(descending=True, limit=100)),
            "a page in the middle": lambda: store.query(Query(limit=100, offset=500_000)),
            "by contract, agent pattern and verdict": lambda: store.query(
                Query(contract="c17", agent="agent-*", verdicts=("pass",), limit=100)
            ),
            "by tag, dearest first": lambda: store.query(
                Query(tag="flaky", sort="cost_usd", descending=True, limit=100)
            ),
            "a study's counts by agent and verdict": lambda: store.tally(
                ("agent", "state"), Query(study="s3")
            ),
            "all counts by agent and verdict": lambda: store.tally(("agent", "state")),
            "all counts by contract, agent and verdict": lambda: store.tally(("contract", "agent", "state")),
            "the number of runs": store.count,
        }
        for name, question in questions.items():
            assert question(), name
            rounds = measure({"query": timed(question)}, workshop.rounds(5), warm_up=1)
            what = f"index of {ROWS_OF_INDEX:,} runs, SQLite: {name}"
            yield Measured.of("index", what, rounds, lambda one: 1000 * one["query"], target=1000, unit="ms")


def listing(workshop: Workshop) -> Iterator[Measured]:
    """The command over real folders: start-up, a look at every folder, the question, and the newest rows."""
    root = workshop.folder / "listed"
    root.mkdir()
    with Store(root, _unread) as store:
        fill(store, FOLDERS)
        for entry in store.query():
            path = root / entry.run
            path.mkdir()
            os.utime(path, ns=(1, 1))  # as `fill` says
    words = [sys.executable, "-m", "steelyard", "runs", "--runs", str(root), "--last", "100", "--json"]

    def command() -> None:
        done = subprocess.run(words, capture_output=True, check=True)
        assert done.stdout.count(b"\n") == 100

    with open_store(root) as store:
        variants = {"command": timed(command), "compare folders": timed(store.sync)}
        rounds = measure(variants, workshop.rounds(5), warm_up=1)
    what = f"`steelyard runs --last 100`, {FOLDERS:,} run folders and their index"
    yield Measured.of("listing", what, rounds, lambda one: 1000 * one["command"], target=1000, unit="ms")


def controller(workshop: Workshop) -> Iterator[Measured]:
    """The memory of a study whose sandbox is the public fake; STEELYARD_BENCH_TRIALS=100000 takes 25 minutes of CPU.

    Run folders are removed as they are indexed: a hundred thousand would be two million files.
    """
    contract = workshop.contract("simulated", {"a.txt": "a\n"}, "true")
    trials = int(os.environ.get("STEELYARD_BENCH_TRIALS", CONTROLLED))
    resident, counted = array("d", bytes(8 * 2 * trials)), 0  # bytes after each trial

    def note(notice: Notice, progress: object, gate: object) -> None:
        nonlocal counted
        del progress, gate
        if notice.kind != "trial" or notice.result is None:
            return
        for path in notice.result.folders:
            shutil.rmtree(path)
        resident[counted] = _resident_bytes()
        counted += 1

    _simulate(workshop.folder / "simulated-runs", contract, trials, note)
    early = counted // 2  # caches are full by then
    growth = (resident[counted - 1] - resident[early]) / (counted - early)
    what = f"memory that a controller keeps for each trial, simulated sandbox, trial {early:,} to {counted:,}"
    points = sorted({max(1, counted * tenth // 10) for tenth in range(11)})
    rounds = [{f"after {at:,} trials (MB)": resident[at - 1] / 1e6 for at in points}]
    yield Measured.of("controller", what, rounds, lambda _: growth, target=1000, unit="bytes")


def _simulate(out: Path, contract: Contract, trials: int, note: Callable[..., None]) -> None:
    """A study without the pages that SQLite caches, up to 64 MB, and with commands that a function answers."""
    wish = Wish("simulated", [(contract, contract.folder)], ["mine=command:true"], repeats=trials // 2)
    plan = make_plan(wish).named("x.csv")
    planned = list(planned_trials(plan, draw_order(plan), {contract.id: contract}))
    out.mkdir()

    def prepare(one: Contract, _: str | None) -> Environment:
        return Environment(one, FakeBackend(lambda _: Answer()), "fake", (), None, Cache.default())

    with open_store(out) as store:
        sa.event.listen(
            store._engine,  # noqa: SLF001  # as in `fill`
            "begin",
            lambda one: one.exec_driver_sql("PRAGMA cache_size=-1000"),
        )
        outcome = Study(
            plan,
            planned,
            StudyFolder.of(out, plan),
            store,
            entries_of,
            lambda gate: Engine(out, JOBS, gate=gate, prepare=prepare),
            forced=frozenset({"main"}),
            on_notice=note,
        ).run()
    assert outcome.how == "complete", outcome


def _resident_bytes() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(store: Store, rows: int) -> None:
    """Rows as runs of 5 studies, 10 agents and 200 contracts would leave them; without folders."""
    base = datetime(2026, 3, 7, tzinfo=UTC).timestamp()
    line = orjson.dumps(
        {"schema": "steelyard.result/1", "grades": [{"why": "exit 1, expected 0"}] * 5}
    ).decode()
    root = store._root_id  # noqa: SLF001  # as below
    with store._engine.begin() as connection:  # noqa: SLF001  # rows without folders cannot be made otherwise
        for start in range(0, rows, _BATCH):
            numbers = range(start + 1, min(start + _BATCH, rows) + 1)
            connection.execute(sa.insert(RUNS), [_row(number, base, root) for number in numbers])
            connection.execute(sa.insert(LINES), [{"id": number, "line": line} for number in numbers])
            tags = [{"root": root, "id": number, "tag": "flaky"} for number in numbers if number % 50 == 0]
            connection.execute(sa.insert(TAGS), tags)


def _row(number: int, base: float, root: int) -> dict[str, Any]:
    agent, contract = number % 10, number // 10 % 200
    return {
        "id": number,
        "root": root,
        "run": f"{number:012d}-c{contract}-agent-{agent}",
        "stamp": 1,
        "state": ("pass", "fail", "fail", "error")[number % 4],
        "started": base + number,
        "contract": f"c{contract}",
        "digest": f"{contract:064x}",
        "agent": f"agent-{agent}",
        "trial": f"t{number:016x}",
        "repeat": number // 2000,
        "attempt": 1,
        "study": f"{number % 5:064x}",
        "study_name": f"s{number % 5}",
        "status": "scorable",
        "termination": "completed",
        "score": 0.5,
        "cost_usd": number % 700 / 100,
        "wall_s": 60.0,
        "is_unsafe": False,
    }


def _unread(folder: RunFolder) -> Any:
    raise AssertionError(folder)


def serve(workshop: Workshop) -> Iterator[Measured]:
    """Patches that differ, so that each is graded."""
    contract = workshop.contract("served", {"a.txt": "a\n"}, "true")
    numbers = iter(range(1_000_000))

    def patches() -> list[str]:
        return [_patch(next(numbers)) for _ in range(TRIALS)]

    variants: dict[str, Variant] = {
        "service": lambda: asyncio.run(_serve(workshop.folder, contract, patches())),
        "engine": timed(lambda: _grade(workshop.folder, contract, patches())),
    }
    rounds = measure(variants, workshop.rounds(3), warm_up=1)
    what = f"{TRIALS} patches graded through `serve`, {JOBS} at a time, against the local engine"
    yield Measured.of("serve", what, rounds, ratio("service", "engine"), target=1.1)


def _patch(number: int) -> str:
    return f"diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-a\n+b{number}\n"


def _grade(folder: Path, contract: Contract, patches: list[str]) -> None:
    files = folder / "patches"
    files.mkdir(exist_ok=True)
    trials = []
    for number, patch in enumerate(patches):
        (files / f"{number}.patch").write_text(patch)
        trials.append(Trial(contract, f"patch:{files}/{number}.patch", number + 1))
    results = list(Engine(folder / "graded", JOBS).run(trials))
    assert all(one.record.verdict.verdict == "pass" for one in results)


async def _serve(folder: Path, contract: Contract, patches: list[str]) -> float:
    place = folder / "grader.sock"
    place.unlink(missing_ok=True)
    async with Grader(folder / "served-runs", jobs=JOBS) as grader:
        service = Service.of(grader, [contract], Access(is_local=True), room=TRIALS)
        runner = web.AppRunner(service.app())
        await runner.setup()
        await web.UnixSite(runner, str(place)).start()
        async with ClientSession(connector=UnixConnector(str(place))) as session:

            async def grade(patch: str) -> str:
                async with session.post(
                    "http://localhost/grade", json={"contract": contract.id, "patch": patch}
                ) as one:
                    return str((await one.json())["verdict"])

            began = time.perf_counter()
            verdicts = await asyncio.gather(*(grade(patch) for patch in patches))
            took = time.perf_counter() - began
        await runner.cleanup()
    assert set(verdicts) == {"pass"}, verdicts
    return took


ROWS = {"study": engine, "index": index, "listing": listing, "controller": controller, "serve": serve}
