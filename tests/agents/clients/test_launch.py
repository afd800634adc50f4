"""How each client is started: from its mount, with the gateway's address and placeholder, and with the whole brief."""

from __future__ import annotations

import pytest

from steelyard.agents.clients.base import INSTALLED_AT, TEMPLATE, Launch, Task
from steelyard.agents.clients.catalogue import CLIENTS

BRIEF = "Mend the sum.\nSay 'done' and \"nothing\" else; $HOME stays."
HOME = "/home/agent/.steelyard-agent"
MODELS = {
    "mini_swe_agent": "openai/gpt-5",
    "aider": "openai/gpt-4o",
    "openhands": "anthropic/claude-opus-4-5",
}


def launch(kind: str, session: str = "") -> Launch:
    client = CLIENTS[kind]
    options = client.options(model=MODELS.get(kind, "some-model"))
    return client.launch(options, Task(BRIEF, TEMPLATE, HOME, session))


def everything(made: Launch) -> str:
    """All that the client is given, as one text."""
    files = b"\n".join(made.files.values()).decode()
    return "\n".join([*made.argv, *made.env.values(), made.stdin.decode(), files])


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_is_started_from_its_mount(kind: str) -> None:
    assert any(word.startswith(f"{INSTALLED_AT}/") for word in launch(kind).argv)


@pytest.mark.parametrize("kind", CLIENTS)
def test_a_client_has_the_gateway_and_its_placeholder_for_a_key(kind: str) -> None:
    given = everything(launch(kind))
    assert "{gateway:" in given
    assert "{key}" in given


@pytest.mark.parametrize(
    "kind", [kind for kind in CLIENTS if kind != "acp"]
)  # its brief is a message of the protocol
def test_a_client_gets_the_brief_as_it_is(kind: str) -> None:
    assert BRIEF in everything(launch(kind)) or repr(BRIEF)[1:-1] in everything(launch(kind))


@pytest.mark.parametrize("kind", CLIENTS)
def test_the_files_of_a_client_are_below_its_home(kind: str) -> None:
    assert not [name for name in launch(kind).files if name.startswith("/") or ".." in name]
