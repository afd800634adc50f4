"""Which installed version of a client is used."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steelyard.agents.clients.catalogue import CLIENTS
from steelyard.agents.installation.install import KIND, RECORD
from steelyard.agents.installation.installed import find_installed, installed_versions
from steelyard.errors import OperatorFault

CODEX = CLIENTS["codex"].package


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    return tmp_path


def put(cache: Path, version: str, record: str | None = None) -> None:
    folder = cache / KIND / f"codex-{version}"
    folder.mkdir(parents=True)
    text = json.dumps({"client": "codex", "version": version}) if record is None else record
    (folder / RECORD).write_text(text)


def test_versions_are_in_the_order_of_their_numbers(own_cache: Path) -> None:
    for version in ("0.10.0", "0.9.2", "0.11.1"):
        put(own_cache, version)
    assert [one.version for one in installed_versions("codex")] == ["0.9.2", "0.10.0", "0.11.1"]


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", '{"client": "codex"}', '{"client": "aider", "version": "1"}']
)
def test_a_folder_without_a_record_of_the_client_is_no_version(own_cache: Path, record: str) -> None:
    put(own_cache, "1.0.0", record)
    assert installed_versions("codex") == []


def test_a_client_that_is_not_there_is_named_with_the_command_that_installs_it(own_cache: Path) -> None:
    del own_cache
    with pytest.raises(OperatorFault, match="`steelyard agents install codex` installs it"):
        find_installed("codex", CODEX)


def test_a_version_that_is_not_there_is_named_with_those_that_are(own_cache: Path) -> None:
    put(own_cache, "0.9.2")
    with pytest.raises(OperatorFault, match=r"codex==7\.0 is not installed \(installed: 0\.9\.2\)"):
        find_installed("codex", CODEX, "7.0")


def test_a_folder_that_no_installation_completed_is_refused(own_cache: Path) -> None:
    put(own_cache, "0.9.2")
    with pytest.raises(OperatorFault, match="is not as it was installed"):
        find_installed("codex", CODEX)
