"""The digest is the contract's identity: what can change a verdict changes it, and nothing else does."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from contract_folders import Git, Writer
from hypothesis import given, settings
from hypothesis import strategies as st
from small_catalogue import SMALL

from steelyard.contract.load import load_contract
from steelyard.filesystem.cache import Cache

FILES = {
    "repo/a.py": "print(1)\n",
    "repo/d/b.py": "print(2)\n",
    "hidden/test_a.py": "assert 1\n",
    "hidden/sub/data.txt": "x\n",
    "reference.patch": "+fixed\n",
    "brief.md": "Mend it, please.\n",
}
FULL: dict[str, Any] = {
    "id": "demo",
    "version": 1,
    "brief_file": "brief.md",
    "brief": ...,
    "hints": ["make test"],
    "repository": {"tree": "repo"},
    "environment": {"env": {"TZ": "UTC", "A": "b"}, "cpu": 1, "memory_mb": {"guaranteed": 64, "limit": 512}},
    "setup": ["make deps"],
    "build": ...,
    "oracle": {
        "checks": [
            {"id": "build", "under": "build", "cmd": "make"},
            {"id": "accept", "cmd": "make test", "inject": ["hidden"], "timeout_s": 60},
        ],
        "reference": "reference.patch",
    },
    "policy": {"allowed_paths": ["a*"]},
    "budget": {"wall_s": 60},
    "graders": [{"type": "implemented", "count": 3}],
    "metadata": {"language": "python"},
}


@pytest.fixture
def full(writer: Writer) -> Writer:
    writer.write(FILES, **FULL)
    return writer


def changed(**keys: Any) -> dict[str, Any]:
    return {**FULL, **keys}


def test_a_contract_moved_to_another_folder_keeps_its_digest(full: Writer, tmp_path: Path) -> None:
    before = full.load().digest
    (tmp_path / "far/away").mkdir(parents=True)
    shutil.move(full.folder, tmp_path / "far/away/renamed")
    assert load_contract(tmp_path / "far/away/renamed", SMALL, Cache(tmp_path / "other")).digest == before


def test_comments_and_the_order_of_keys_do_not_matter(full: Writer) -> None:
    before = full.load().digest
    shuffled = _shuffled(
        {key: value for key, value in FULL.items() if value is not ...}, random.Random(1)
    )  # shuffling keys
    full.text("# a comment\n" + yaml.safe_dump(shuffled, sort_keys=False, default_flow_style=True))
    assert full.load().digest == before


def _shuffled(value: Any, dice: random.Random) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, dice) for item in value]
    if not isinstance(value, dict):
        return value
    items = list(value.items())
    dice.shuffle(items)
    return {key: _shuffled(item, dice) for key, item in items}


def test_times_owners_and_the_modes_of_others_do_not_matter(full: Writer) -> None:
    before = full.load().digest
    for path in full.folder.rglob("*"):
        if path.is_file():
            os.utime(path, (5, 5))
            path.chmod(0o604)
            if os.geteuid() == 0:
                os.chown(path, 1234, 1234)
    assert full.load().digest == before


SAME: list[dict[str, Any]] = [
    {"version": 2},
    {"version": "three"},
    {"version": ...},
    {"brief": FILES["brief.md"], "brief_file": ...},
    {"budget": {"wall_s": 60.0, "tokens": 2_000_000}},
    {"repository": {"tree": "./repo"}},
    {"pass_threshold": 1},
    {"reward": "combined"},
    {"turns": []},
    {"graders": [{"type": "implemented", "count": 3, "name": "implemented", "gate": True, "required": True}]},
]


@pytest.mark.parametrize("keys", SAME, ids=str)
def test_saying_the_same_in_another_way_keeps_the_digest(full: Writer, keys: dict[str, Any]) -> None:
    before = full.load().digest
    full.write(FILES, **changed(**keys))
    assert full.load().digest == before


def checks(**keys: Any) -> dict[str, Any]:
    first, second = FULL["oracle"]["checks"]
    return {"oracle": {**FULL["oracle"], "checks": [first, {**second, **keys}]}}


OTHER: list[dict[str, Any]] = [
    {"id": "other"},
    {"brief": "Mend it.", "brief_file": ...},
    {"hints": []},
    {"environment": {**FULL["environment"], "env": {"TZ": "UTC"}}},
    {"environment": {**FULL["environment"], "cpu": 2}},
    {"environment": {**FULL["environment"], "sandbox": "local"}},
    {"environment": {**FULL["environment"], "toolchains": {"python": "3"}}},
    {"setup": ["make all"]},
    {"setup_network": "host"},
    {"generated": ["x/*"]},
    {"runner_files": ["conftest.py"]},
    {"policy": {"allowed_paths": ["a*", "d*"]}},
    {"policy": {}},
    {"budget": {"wall_s": 61}},
    {"budget": {"wall_s": 60, "failed_checks": 1}},
    {"graders": []},
    {"graders": [{"type": "implemented", "count": 4}]},
    {"graders": [{"type": "implemented", "count": 3, "name": "x"}]},
    {"graders": [{"type": "implemented", "count": 3, "gate": False}]},
    {"graders": [{"type": "implemented", "count": 3, "gate": False, "pass_threshold": 0.6}]},
    {"graders": [{"type": "implemented", "count": 3, "under": "patch"}]},
    {"pass_threshold": 0.5},
    {"reward": "binary"},
    checks(cmd="make check"),
    checks(timeout_s=61),
    checks(id="other"),
    checks(weight=2),
    checks(gate=True),
    checks(under="static"),
    checks(mandatory=False),
    checks(layer="unit"),
    checks(inject=["hidden/test_a.py"]),
    {"oracle": {**FULL["oracle"], "reruns": {"max": 2}}},
    {"oracle": {**FULL["oracle"], "reference": ...}},
    {"oracle": {**FULL["oracle"], "checks": FULL["oracle"]["checks"][::-1]}},
]


@pytest.mark.parametrize("keys", OTHER, ids=str)
def test_a_change_that_can_change_a_verdict_changes_the_digest(full: Writer, keys: dict[str, Any]) -> None:
    before = full.load().digest
    data = changed(**keys)
    data["oracle"] = {key: value for key, value in data["oracle"].items() if value is not ...}
    full.write(FILES, **data)
    assert full.load().digest != before


@pytest.mark.parametrize("name", [name for name in FILES if name != "contract.yaml"])
def test_the_bytes_of_every_file_are_in_the_digest(full: Writer, name: str) -> None:
    before = full.load().digest
    (full.folder / name).write_text("other\n")
    assert full.load().digest != before


@pytest.mark.parametrize("name", ["repo/a.py", "hidden/test_a.py", "hidden/sub/data.txt"])
def test_the_execute_bit_is_in_the_digest(full: Writer, name: str) -> None:
    before = full.load().digest
    (full.folder / name).chmod(0o755)
    assert full.load().digest != before


def test_a_file_renamed_or_added_in_a_hidden_folder_changes_the_digest(full: Writer) -> None:
    digests = {full.load().digest}
    (full.folder / "hidden/test_a.py").rename(full.folder / "hidden/test_b.py")
    digests.add(full.load().digest)
    (full.folder / "hidden/more.py").write_text("")
    digests.add(full.load().digest)
    (full.folder / "hidden/link").symlink_to("more.py")
    digests.add(full.load().digest)
    (full.folder / "hidden/link").unlink()
    (full.folder / "hidden/link").symlink_to("test_b.py")
    digests.add(full.load().digest)
    assert len(digests) == 5


def test_a_file_that_nothing_names_is_not_in_the_digest(full: Writer) -> None:
    before = full.load().digest
    (full.folder / "notes.md").write_text("for me\n")
    assert full.load().digest == before


def test_where_the_repository_lies_is_not_in_the_digest(
    writer: Writer, repository: Git, tmp_path: Path
) -> None:
    """The same contents as a folder, a repository and a bundle: one contract."""
    writer.write()
    digests = {writer.load().digest}
    commit = repository.commit({"a.py": "print(1)\n"})
    repository("bundle", "create", "-q", str(tmp_path / "x.bundle"), "trunk")
    for place in ("../upstream", str(repository.folder), "../x.bundle"):
        writer.write(repository={"git": place, "commit": commit})
        digests.add(writer.load().digest)
    assert len(digests) == 1


def test_a_visible_history_is_in_the_digest(writer: Writer, repository: Git) -> None:
    digests = set()
    for message in ("one", "two"):
        commit = repository.commit({"a.py": "print(1)\n"}, message)
        for history in ("none", "full"):
            writer.write(repository={"git": "../upstream", "commit": commit, "history": history})
            digests.add(writer.load().digest)
    assert len(digests) == 3  # without history both commits are the same


def test_the_suite_is_in_the_digest(full: Writer) -> None:
    before = full.load().digest
    (full.folder.parent / "suite.yaml").write_text("budget: {tokens: 5}\n")
    assert full.load().digest != before


def test_the_digest_does_not_depend_on_the_cache(full: Writer, tmp_path: Path) -> None:
    assert full.load().digest == load_contract(full.folder, SMALL, Cache(tmp_path / "second")).digest


def test_the_digest_does_not_depend_on_who_runs_it(full: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    before = full.load().digest
    monkeypatch.setenv("STEELYARD_RUN_UID", "4711")
    assert full.load().digest == before


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)


@settings(max_examples=30)
@given(
    brief=TEXT,
    env=st.dictionaries(st.from_regex(r"\A[A-Z]{1,4}\Z"), TEXT, max_size=3),
    wall=st.integers(1, 99),
    cmd=TEXT,
)
def test_two_contracts_have_one_digest_exactly_when_they_say_the_same(
    writer: Writer, brief: str, env: dict[str, str], wall: int, cmd: str
) -> None:
    def digest(**keys: Any) -> str:
        result = {"brief": brief, "environment": {"env": env}, "budget": {"wall_s": wall}, **keys}
        writer.write(**{"oracle": {"checks": [{"id": "a", "cmd": cmd}]}, **result})
        return writer.load().digest

    same = digest()
    assert digest(environment={"env": dict(reversed(env.items()))}) == same
    assert digest(budget={"wall_s": float(wall)}) == same
    others = [
        digest(brief=brief + "!"),
        digest(environment={"env": {**env, "ZZZZZ": "1"}}),
        digest(budget={"wall_s": wall + 1}),
        digest(oracle={"checks": [{"id": "a", "cmd": cmd + "!"}]}),
    ]
    assert len({same, *others}) == 5
