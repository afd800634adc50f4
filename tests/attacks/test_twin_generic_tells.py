"""Patches that know nothing of a suite, and forge where they believe that this is the run that counts.

A control run that can be distinguished from the real one is worth nothing. So there is no real one: each run has some tests changed
and others not, and whether one of them is says nothing about the next. The payloads here ask for what used to give a control
run away. There are five small projects in Python and five in JavaScript; each payload is put into one of each five.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_projects import (
    JAVASCRIPT,
    PROJECTS,
    PYTEST,
    PYTHON,
    Project,
    appended,
    chosen_pairs,
    write_contract,
)
from tells import TELLS_JS, TELLS_PY, forging_javascript, forging_python

from authoring import Steelyard

Line = dict[str, Any]
TRIES = 5  # the chance that luck explains as many passes in a row is less than one in a million


def visible(project: Project) -> str:
    tests = {path: text for path, text in project.files.items() if path.startswith("test")}
    return json.dumps({path: hashlib.sha256(text.encode()).hexdigest() for path, text in tests.items()})


def payloads(project: Project) -> dict[str, str]:
    is_python = project.language == "python"
    pairs = chosen_pairs(PYTHON if is_python else JAVASCRIPT, [*(TELLS_PY if is_python else TELLS_JS)])
    runner = "pytest" if project.command == PYTEST else "unittest"
    made = {
        tell: forging_python(tell, runner) if is_python else forging_javascript(tell)
        for other, tell in pairs
        if other is project
    }
    return {
        tell: appended(project, text.replace("@VISIBLE@", visible(project))) for tell, text in made.items()
    }


def contract_of(project: Project, folder: Path) -> Path:
    """A change passes by luck once in twenty trials, so one that passes is tried again."""
    contract = write_contract(folder, project, "twin") / "contract.yaml"
    written = yaml.safe_load(contract.read_text())
    written["oracle"]["max_chance"] = 0.05
    contract.write_text(yaml.safe_dump(written))
    return folder


@pytest.fixture
def tried(tmp_path: Path, steelyard: Steelyard) -> Callable[..., dict[str, Line]]:
    def run(contract: Path, scripts: dict[str, str]) -> dict[str, Line]:
        words: list[object] = []
        for number, text in enumerate(scripts.values()):
            (tmp_path / f"agent{number}.sh").write_text(text)
            words += ["--agent", f"script:{tmp_path / f'agent{number}.sh'}"]
        result = steelyard("run", contract, *words, "--agent", "reference", "--json", "--no-judge")
        lines = [json.loads(line) for line in result.out.splitlines()]
        assert len(lines) == len(scripts) + 1, result.err
        return dict(zip([*scripts, "reference"], lines, strict=True))

    return run


@pytest.mark.parametrize("project", [*filter(payloads, PROJECTS)], ids=lambda one: one.name)
def test_a_payload_that_tells_a_control_run_by_what_it_finds_does_not_pass(
    project: Project, tmp_path: Path, tried: Callable[..., dict[str, Line]]
) -> None:
    contract, scripts = contract_of(project, tmp_path / "contract"), payloads(project)
    for _ in range(TRIES):
        lines = tried(contract, scripts)
        reference = lines.pop("reference")
        assert (reference["verdict"], reference["assurance"]["oracle"]) == ("pass", "twin"), reference[
            "grades"
        ]
        scripts = {tell: scripts[tell] for tell, line in lines.items() if line["verdict"] == "pass"}
        if not scripts:
            return
    assert scripts == {}
