"""What an operator gives to an agent is checked before anything starts, and its values are shown nowhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from steelyard.agents.base import AgentResources
from steelyard.agents.catalogue import find_agent
from steelyard.agents.configured import configure_agent, mounted_name
from steelyard.agents.data import Noop
from steelyard.agents.process import CommandLine
from steelyard.cli.options.agent_options import check_agents
from steelyard.errors import OperatorFault
from steelyard.plan.agent_options import AgentOptions
from steelyard.sandboxes.base import AllowedHost, HostFolder

KEY = "sk-test-0123456789abcdef"
ENVIRON = {"API_KEY": KEY, "EMPTY": ""}


def resources(**options: Any) -> AgentResources:
    return configure_agent(CommandLine("my-agent"), "", AgentOptions(**options), ENVIRON).resources


def test_a_variable_has_its_value_from_the_environment() -> None:
    assert resources(env=("API_KEY",)).env == {"API_KEY": KEY}


def test_a_host_and_a_folder_are_the_agents(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    own = resources(hosts=("api.example.com:443",), paths=(f"{tmp_path}:/opt/agent",))
    assert own.hosts == (AllowedHost("api.example.com", 443),)
    assert own.folders == (HostFolder("/opt/agent", tmp_path.resolve()),)


def test_a_folder_is_mounted_at_its_own_path_unless_an_option_says_otherwise(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert resources(paths=(str(tmp_path),)).folders[0].path == str(tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AgentOptions(env=("ABSENT",)), "ABSENT: the variable is not set"),
        (AgentOptions(env=("EMPTY",)), "EMPTY: the variable is set, but empty"),
        (AgentOptions(env=("API_KEY=sk-live-99",)), "takes only the name"),
        (AgentOptions(env=("1X",)), "not a name of a variable"),
        (AgentOptions(env=("STEELYARD_TURN",)), "set by Steelyard"),
        (AgentOptions(hosts=("api.example.com",)), "write HOST:PORT"),
        (AgentOptions(hosts=("https://api.example.com:443",)), "write HOST:PORT"),
        (AgentOptions(hosts=("localhost:80",)), "host.internal:80"),
        (AgentOptions(paths=("/no/such/folder",)), "there is no such folder"),
        (AgentOptions(paths=(f"{__file__}",)), "not a folder"),
        (AgentOptions(paths=(f"{Path(__file__).parents[1]}:opt",)), "not an absolute path"),
        (AgentOptions(paths=(f"{Path(__file__).parents[1]}:/workspace/x",)), "in the way of /workspace"),
        (AgentOptions(paths=(f"{Path(__file__).parents[1]}:/home",)), "in the way of /home/agent"),
    ],
)
def test_what_cannot_be_is_refused_with_an_explanation(options: AgentOptions, message: str) -> None:
    with pytest.raises(OperatorFault, match=message) as refused:
        configure_agent(CommandLine("my-agent"), "", options, ENVIRON)
    assert "sk-live-99" not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="the agent of an ordinary user has that user's rights")
def test_a_folder_that_only_root_can_read_is_refused_for_root(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(OperatorFault, match="could not read it"):
        resources(paths=(str(tmp_path),))


def test_no_value_is_in_a_representation() -> None:
    agent = configure_agent(CommandLine("my-agent"), "mine", AgentOptions(env=("API_KEY",)), ENVIRON)
    assert KEY not in repr(agent)


def test_an_agent_without_a_process_is_given_nothing() -> None:
    assert configure_agent(Noop(), "", AgentOptions(env=("API_KEY",)), ENVIRON).resources == AgentResources()


def test_a_name_that_shows_a_value_is_refused() -> None:
    with pytest.raises(OperatorFault, match="shows the value") as refused:
        configure_agent(CommandLine("my-agent"), f"x-{KEY}", AgentOptions(env=("API_KEY",)), ENVIRON)
    assert KEY not in str(refused.value)


def test_a_program_that_is_not_in_the_agents_folder_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    options = AgentOptions(paths=(f"{tmp_path}:/opt/agent",))
    agent = configure_agent(CommandLine("/opt/agent/bin/absent x"), "", options, ENVIRON)
    with pytest.raises(OperatorFault, match="there is no /opt/agent/bin/absent"):
        agent.programs()


@pytest.mark.parametrize(
    ("program", "found"),
    [("mine", "/opt/agent/bin/mine"), ("top", "/opt/agent/top"), ("git", None), ("/opt/agent/top", None)],
)
def test_a_program_of_a_mounted_folder_is_found_by_its_short_name(
    tmp_path: Path, program: str, found: str | None
) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "bin").mkdir()
    for name in ("bin/mine", "top"):
        (tmp_path / name).write_text("")
    agent = configure_agent(
        CommandLine(program), "", AgentOptions(paths=(f"{tmp_path}:/opt/agent",)), ENVIRON
    )
    assert mounted_name(agent, program) == found


def test_an_agent_has_the_name_that_it_is_given() -> None:
    assert find_agent("mine=command:my-agent --x=1").name == "mine"
    assert find_agent("command:A=1 my-agent").name.startswith("command:")


@pytest.mark.parametrize("text", ["reference=command:x", "my agent=command:x", "mine=noop", "=command:x"])
def test_a_name_that_misleads_is_refused(text: str) -> None:
    with pytest.raises(OperatorFault):
        find_agent(text)


def test_two_agents_of_one_name_are_refused() -> None:
    with pytest.raises(OperatorFault, match="have the same name, mine"):
        check_agents(["mine=command:a", "mine=command:b"], AgentOptions())


def test_options_that_no_agent_takes_are_refused() -> None:
    with pytest.raises(OperatorFault, match="none of these does"):
        check_agents(["noop"], AgentOptions(env=("PATH",)))


def test_a_value_that_is_too_short_to_redact_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IS_SANDBOX", "1")
    check_agents(["command:my-agent"], AgentOptions(env=("IS_SANDBOX",)))
    assert "the value of IS_SANDBOX is shorter than 8 bytes" in capsys.readouterr().err
