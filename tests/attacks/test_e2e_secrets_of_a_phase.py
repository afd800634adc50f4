"""An agent looks for the secret that only the checks may have.

`environment.secrets: [{name: ORACLE_TOKEN, for: checks}]` gives a variable of this machine to the bench. The agent prints its
environment and searches its sandbox; the check, which needs the value, prints it too. No record has it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from authoring import Author, Steelyard

VALUE = "the-token-of-the-oracle-4711"
ENV = {"ORACLE_TOKEN": VALUE}
TAKE = ("--take-env", "ORACLE_TOKEN")
LOOK = "env; grep -rs the-token-of /workspace /home /tmp; echo looked\n"
CHECK = {"id": "token", "cmd": 'echo "it is $ORACLE_TOKEN"; test "$ORACLE_TOKEN" = ' + VALUE[:-4] + '"$END"'}


def contract_of(author: Author, phase: str, **more: Any) -> Path:
    environment = {
        "memory_mb": {"guaranteed": 64, "limit": 512},
        "env": {"END": VALUE[-4:]},
        "secrets": [{"name": "ORACLE_TOKEN", "for": phase}],
    }
    folder: Path = author.write(
        environment=environment, oracle={"checks": [{**CHECK, "timeout_s": 60}]}, **more
    )
    return folder


def holds_value(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]


def test_a_secret_of_the_checks_is_there_and_not_with_the_agent(
    steelyard: Steelyard, author: Author, script: Any
) -> None:
    words = ("run", contract_of(author, "checks"), "--agent", script(LOOK), *TAKE, "--json")
    result = steelyard(*words, env=ENV)
    folder = Path(result.line["folder"])
    assert result.line["grades"][1]["outcome"] == "pass"
    printed = (folder / "agent/stdout.txt").read_text()
    assert "looked" in printed
    assert "ORACLE_TOKEN" not in printed
    assert holds_value(folder) == []
    assert VALUE not in result.out + result.err


def test_a_secret_of_the_agent_is_not_on_the_bench(steelyard: Steelyard, author: Author, script: Any) -> None:
    words = ("run", contract_of(author, "agent"), "--agent", script(LOOK), *TAKE, "--json")
    result = steelyard(*words, env=ENV)
    folder = Path(result.line["folder"])
    assert result.line["grades"][1]["outcome"] == "fail"
    assert "ORACLE_TOKEN=[redacted:ORACLE_TOKEN]" in (folder / "agent/stdout.txt").read_text()
    assert holds_value(folder) == []


def test_a_secret_of_setup_is_nowhere_else(steelyard: Steelyard, author: Author, script: Any) -> None:
    contract = contract_of(author, "setup", setup=['test -n "$ORACLE_TOKEN" && echo yes > had-it'])
    result = steelyard("run", contract, "--agent", script(f"cat had-it; {LOOK}"), *TAKE, "--json", env=ENV)
    folder = Path(result.line["folder"])
    printed = (folder / "agent/stdout.txt").read_text()
    assert printed.startswith("yes")
    assert "ORACLE_TOKEN" not in printed
    assert result.line["grades"][1]["outcome"] == "fail"
    assert holds_value(folder) == []


@pytest.mark.parametrize("phase", ["setup", "agent", "checks"])
def test_a_secret_that_the_operator_does_not_give_starts_nothing(
    steelyard: Steelyard, author: Author, phase: str
) -> None:
    result = steelyard("run", contract_of(author, phase), "--agent", "noop", env=ENV)
    assert result.code == 2
    assert "--take-env ORACLE_TOKEN" in result.err
    assert VALUE not in result.err


def test_the_manifest_names_a_secret_and_its_phase(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", contract_of(author, "checks"), "--agent", "noop", *TAKE, "--json", env=ENV)
    manifest = Path(result.line["folder"], "manifest.json").read_text()
    assert '"for": "checks"' in manifest
    assert '"name": "ORACLE_TOKEN"' in manifest


def test_a_live_bench_has_no_secrets_of_its_own(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("check", contract_of(author, "checks", bench="live"))
    assert "the agent would have the secrets of the checks" in result.out + result.err
