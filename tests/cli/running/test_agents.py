"""`steelyard agents`: the list, and what is refused before anything starts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from authoring import Author, Steelyard
from steelyard.agents.clients.catalogue import CLIENTS
from steelyard.agents.installation.install import KIND, RECORD
from steelyard.cli.running.agents import _facts, _table


def test_the_list_has_every_client_and_what_it_needs(steelyard: Steelyard) -> None:
    result = steelyard("agents", "--json")
    facts = {line["name"]: line for line in result.lines}
    assert list(facts) == list(CLIENTS)
    assert facts["codex"]["needs"]["providers"] == ["openai"]
    assert facts["claude_code"]["tried"]
    assert "tool calls" in facts["claude_code"]["gives"]


def test_a_client_shows_its_options(steelyard: Steelyard) -> None:
    assert "max_turns=NUMBER" in steelyard("agents", "list", "claude_code").out


def test_a_client_is_shown_below_the_names_of_its_columns(steelyard: Steelyard) -> None:
    head, row, *_ = steelyard("agents", "list", "codex").out.splitlines()
    assert (head.split()[:2], row.split()[0]) == (["agent", "installed"], "codex")


def test_the_help_of_run_names_clients_and_the_command_that_lists_them(steelyard: Steelyard) -> None:
    words = " ".join(steelyard("run", "--help").out.split())
    assert "a client such as claude_code or codex (`steelyard agents` lists them)" in words


def test_a_client_that_is_not_installed_is_refused_with_the_command_that_installs_it(
    steelyard: Steelyard, author: Author, tmp_path: Path
) -> None:
    env = {"STEELYARD_CACHE": str(tmp_path / "empty"), "OPENAI_API_KEY": "sk-test-0123456789"}
    result = steelyard("run", author.write(), "--agent", "codex:model=gpt-5.5-codex", env=env)
    assert result.code == 2
    assert "`steelyard agents install codex` installs it" in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("install",), "name a client"),
        (("install", "noop"), "is part of Steelyard"),
        (("install", "cursor"), "there is no client 'cursor' to install"),
        (("install", "codex==../../x"), "is not a version of codex"),
        (("install", "codex==-y"), "is not a version of codex"),
    ],
)
def test_what_cannot_be_installed_is_refused(
    steelyard: Steelyard, words: tuple[str, ...], message: str
) -> None:
    result = steelyard("agents", *words)
    assert result.code == 2
    assert message in result.err


def test_an_installation_says_what_it_waits_for(steelyard: Steelyard, tmp_path: Path) -> None:
    registry = tmp_path / "bin"
    registry.mkdir()
    (registry / "npm").write_text("#!/bin/sh\necho the registry is away >&2\nexit 1\n")
    (registry / "npm").chmod(0o755)
    env = {"STEELYARD_CACHE": str(tmp_path / "empty"), "PATH": f"{registry}:{os.environ['PATH']}"}
    result = steelyard("agents", "install", "codex==1.2.3", env=env)
    assert result.code == 3
    first, *others = result.err.splitlines()
    assert first == "steelyard: installing codex 1.2.3 from npm; this can take minutes"
    assert "the registry is away" in "".join(others)


def test_the_list_fits_a_narrow_terminal_and_says_the_same() -> None:
    facts = [{**_facts(client), "installed": []} for client in CLIENTS.values()]
    facts[0]["installed"] = [f"0.0.{number}" for number in range(30)]
    wide = " ".join(_table(facts)).split()
    for width in (60, 80, 100, 200):
        lines = _table(facts, width)
        assert max(map(len, lines)) <= width
        assert sorted(" ".join(lines).split()) == sorted(wide)


def test_of_many_installed_versions_the_list_has_the_newest_and_their_number() -> None:
    facts = {**_facts(CLIENTS["codex"]), "installed": ["0.9.0", "0.10.0", "0.11.0"]}
    assert "0.11.0 (+2)" in _table([facts])[1]


def test_a_client_shows_all_its_installed_versions(steelyard: Steelyard, tmp_path: Path) -> None:
    for version in ("0.9.0", "0.10.0"):
        folder = tmp_path / "cache" / KIND / f"codex-{version}"
        folder.mkdir(parents=True)
        (folder / RECORD).write_text(json.dumps({"client": "codex", "version": version}))
    result = steelyard("agents", "list", "codex", env={"STEELYARD_CACHE": str(tmp_path / "cache")})
    assert "installed: 0.9.0, 0.10.0\n" in result.out
