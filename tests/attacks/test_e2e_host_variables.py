"""A foreign contract asks for the operator's keys.

`environment.host_variables` names variables of this machine, so a suite from elsewhere could name the operator's API key
and have its check, or an agent with a network, carry it away. A contract gets a value only where the command says
`--take-env NAME`: otherwise the default counts, and where there is none nothing starts.
"""

from __future__ import annotations

from pathlib import Path

from authoring import Author, Steelyard

VALUE = "sk-the-operators-own-key"
ENV = {"OPERATOR_KEY": VALUE}


def ask_for(author: Author, text: str) -> Path:
    environment = {
        "memory_mb": {"guaranteed": 64, "limit": 512},
        "env": {"STOLEN": text},
        "host_variables": ["OPERATOR_KEY"],
    }
    checks = [{"id": "steal", "cmd": 'echo "stolen: $STOLEN"; exit 1', "timeout_s": 60}]
    folder: Path = author.write(environment=environment, oracle={"checks": checks})
    return folder


def test_a_contract_does_not_get_a_variable_that_no_option_names(
    steelyard: Steelyard, author: Author
) -> None:
    words = ("run", ask_for(author, "${OPERATOR_KEY:-nothing}"), "--agent", "noop", "--json")
    result = steelyard(*words, env=ENV)
    stolen = Path(result.line["folder"], "checks/steal/outcome.json").read_text()
    assert "stolen: nothing" in stolen
    assert VALUE not in stolen


def test_a_contract_that_insists_on_a_variable_is_not_started(steelyard: Steelyard, author: Author) -> None:
    result = steelyard("run", ask_for(author, "${OPERATOR_KEY}"), "--agent", "noop", env=ENV)
    assert result.code == 2
    assert "--take-env OPERATOR_KEY" in result.err
    assert VALUE not in result.err


def test_a_key_that_a_contract_may_have_is_in_no_record_though_its_check_prints_it(
    steelyard: Steelyard, author: Author
) -> None:
    words = (
        "run",
        ask_for(author, "${OPERATOR_KEY}"),
        "--agent",
        "noop",
        "--take-env",
        "OPERATOR_KEY",
        "--json",
    )
    result = steelyard(*words, env=ENV)
    folder = Path(result.line["folder"])
    assert "stolen: [redacted:OPERATOR_KEY]" in (folder / "checks/steal/outcome.json").read_text()
    assert not [path for path in folder.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
    assert VALUE not in result.out + result.err
