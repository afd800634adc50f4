"""What a verifier's files say about names and paths: modules that it installs, and places that it copies to."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from steelyard.api import load_contract
from steelyard.bench.transfer.names.verifier_names import (
    Targets,
    copy_targets,
    verifier_folders,
    verifier_modules,
)
from steelyard.contract.contract import Contract
from steelyard.evidence.change.change import ChangeEntry
from steelyard.filesystem.tree import Entry

SCRIPT = """\
#!/bin/bash
set -e
apt-get update
pip install pyyaml==6.0 'requests>=2' -r requirements.txt
uvx -p 3.13 -w pytest==8.4.1 -w pytest-json-ctrf==0.3.5 \\
  -w scikit-learn pytest --ctrf /logs/verifier/ctrf.json $TEST_DIR/test_outputs.py -rA
mkdir -p out && cp /tests/test_outputs.py /app/tests/
cp -r $TEST_DIR/data suite/data.json
cd /app/sub; PYTHONPATH=/app/lib python3 -m pytest
cp "/tests/run.js" "$WHERE/run.js"
"""
FILE, LINK, FOLDER = Entry("file", "644", 1, "0" * 64), Entry("symlink", target="x"), Entry("dir")


@pytest.fixture
def contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Contract:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    files = {
        "tests/test.sh": SCRIPT,
        "tests/test_outputs.py": "",
        "tests/rules.py": "",
        "tests/data/x": "",
        "tests/run.js": "",
        "repo/a": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    spec = {
        "id": "a",
        "brief": "b",
        "build": "none",
        "repository": {"tree": "repo"},
        "oracle": {"checks": [{"id": "v", "type": "verifier", "script": "tests/test.sh", "timeout_s": 9}]},
        "budget": {"wall_s": 60, "headroom": {"wall_s": 30}},
    }
    (tmp_path / "contract.yaml").write_text(yaml.safe_dump(spec))
    return load_contract(tmp_path)


def test_modules_that_a_verifier_brings_or_installs_are_known(contract: Contract) -> None:
    found = verifier_modules(contract)
    assert {"yaml", "requests", "pytest", "pytest_json_ctrf", "sklearn", "rules"} <= found
    assert not {"test_outputs", "install", "r", "requirements.txt"} & found


def test_places_that_a_verifier_copies_to_are_known(contract: Contract) -> None:
    found = copy_targets(contract, "app")
    assert {"app/tests/test_outputs.py", "app/suite/data.json"} <= found.files
    assert {"app/tests", "app/out"} <= found.folders
    assert found.names == {"test_outputs.py"}


def test_folders_that_a_verifier_enters_are_known(contract: Contract) -> None:
    assert verifier_folders(contract, "app") == {"app/sub", "app/lib"}


TARGETS = Targets(
    files=frozenset({"app/tests/test_a.py"}),
    folders=frozenset({"app/tests", "app/out"}),
    names=frozenset({"test_b.py"}),
)


@pytest.mark.parametrize(
    ("path", "new", "stops"),
    [
        ("app/tests/test_a.py", FILE, False),
        ("app/tests/test_a.py", LINK, True),
        ("app/tests/test_a.py/x", FILE, True),
        ("app/tests/test_a/__init__.py", FILE, True),
        ("app/tests/test_a.abi3.so", FILE, True),
        ("app/tests", LINK, True),
        ("app/out", FILE, True),
        ("app/out", FOLDER, False),
        ("app/out/x", FILE, False),
        ("app", LINK, True),
        ("app/elsewhere/test_b.py/x", FILE, True),
        ("app/elsewhere/test_b.py", LINK, True),
        ("app/elsewhere/test_b.py", FILE, False),
        ("app/elsewhere/test_b/__init__.py", FILE, True),
        ("app/elsewhere/test_b/notes.txt", FILE, False),
        ("app/other.py", FILE, False),
    ],
)
def test_what_is_in_a_verifiers_way(path: str, new: Entry, stops: bool) -> None:  # noqa: FBT001  # a row of a table
    assert TARGETS.stopped_by(ChangeEntry(path, None, new), path) is stops


def test_a_folder_that_goes_away_is_missed_where_files_are_copied_into_it() -> None:
    assert TARGETS.stopped_by(ChangeEntry("app/tests", FOLDER, None), "app/tests")
    assert not TARGETS.stopped_by(ChangeEntry("app/data", FOLDER, None), "app/data")
