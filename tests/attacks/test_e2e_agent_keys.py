"""An agent with a key of the operator's, through the command line: the key is in no record, and in no sandbox but the agent's.

The agent does what it can to leave it there: it prints the key whole and in two pieces, writes it into its patch, into
names of files and into a link.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from containers import in_docker
from far_hosts import serving

from authoring import FIX, Author, CliResult, Steelyard, payloads

SANDBOXES = ["bubblewrap", "docker"]
KEY = "sk-of-the-operator-7c1e55d0a9"
LIMITS = {"memory_mb": {"guaranteed": 64, "limit": 256}, "disk_mb": 64, "processes": 64}
LEAKING = f"""{FIX}
echo "my key is $OPERATOR_KEY"
printf %s "${{OPERATOR_KEY%??????}}"; sleep 0.2; printf %s "${{OPERATOR_KEY#"${{OPERATOR_KEY%??????}}"}}"; echo
echo "$OPERATOR_KEY" >&2
printf 'user:%s' "$OPERATOR_KEY" | base64
printf %s "$OPERATOR_KEY" > notes.txt
echo "# $OPERATOR_KEY" >> add.sh
mkdir "dir-$OPERATOR_KEY"; echo x > "dir-$OPERATOR_KEY/x-$OPERATOR_KEY"
ln -s "/tmp/$OPERATOR_KEY" link
head -c 300000 /dev/zero | tr '\\0' y > large.txt; printf '%s' "$OPERATOR_KEY" >> large.txt; head -c 300000 /dev/zero >> large.txt
"""
# The check prints all that it can see of the key.
SEEING = 'env; cat notes.txt add.sh; ls -a . dir-*; readlink link; cat /proc/*/environ 2>/dev/null; [ -z "$OPERATOR_KEY" ] && sh check.sh'


def contract_in(kind: str, author: Author, **keys: Any) -> Path:
    environment = {**LIMITS, **(in_docker() if kind == "docker" else {})}
    check = {"id": "sees", "cmd": SEEING, "timeout_s": 60}
    folder: Path = author.write(environment=environment, **{"oracle": {"checks": [check]}, **keys})
    return folder


def places_with_key(runs: Path) -> list[str]:
    spellings = (KEY.encode(), KEY.encode().hex().encode(), base64.b64encode(b"user:" + KEY.encode())[8:-4])
    found = [
        str(path)
        for path in runs.rglob("*")
        if KEY in str(path)
        or (path.is_file() and any(spelling in path.read_bytes() for spelling in spellings))
    ]
    return found + [
        str(path) for path in runs.rglob("*") if path.is_symlink() and KEY in str(path.readlink())
    ]


def with_key(steelyard: Steelyard, *words: object) -> CliResult:
    return steelyard(*words, env={"OPERATOR_KEY": KEY})


def test_a_key_that_the_agent_prints_and_writes_everywhere_is_in_no_record(
    kind: str, author: Author, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    agent = f"mine={script(LEAKING)}"
    contract, runs = contract_in(kind, author), tmp_path / "runs"
    result = with_key(
        steelyard, "run", contract, "--agent", agent, "--agent-env", "OPERATOR_KEY", "--out", runs, "--json"
    )
    assert result.line["verdict"] == "pass", result
    assert result.line["agent"] == "mine"
    assert places_with_key(runs) == []
    shown = [with_key(steelyard, verb, result.line["run"], "--runs", runs) for verb in ("show", "diff")]
    shown.append(with_key(steelyard, "show", result.line["run"], "--runs", runs, "--json"))
    assert all(KEY not in one.out + one.err for one in (result, *shown))
    folder = Path(result.line["folder"])
    printed = (folder / "agent/stdout.txt").read_text()
    assert printed.count("[redacted:OPERATOR_KEY]") == 3  # whole, in two pieces, in base64
    assert "# [redacted:OPERATOR_KEY]" in (folder / "patch.diff").read_text()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["agent"]["env"] == {"OPERATOR_KEY": "redacted"}
    assert {"notes.txt", "add.sh", "large.txt"} <= {
        one["where"] for one in result.line["findings"] if one["id"] == "secret_redacted"
    }
    verified = with_key(steelyard, "verify", result.line["run"], "--runs", runs)
    assert verified.code == 0, verified


def test_the_digest_of_a_contract_does_not_change_with_the_agent(
    author: Author, steelyard: Steelyard
) -> None:
    contract = author.write()
    plain = steelyard("run", contract, "--agent", f"command:{FIX}", "--json").line
    given = with_key(
        steelyard, "run", contract, "--agent", f"command:{FIX}", "--agent-env", "OPERATOR_KEY", "--json"
    ).line
    assert plain["contract"] == given["contract"]
    classes = [
        json.loads(Path(line["folder"], "manifest.json").read_text())["configuration"]["comparability_class"]
        for line in (plain, given)
    ]
    assert classes[0] == classes[1]


def test_setup_and_a_verifier_do_not_see_the_key(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    """What they print is on record without it, and they pass only where the variable is not set."""
    verifier = {"id": "verifies", "type": "verifier", "script": "tests/test.sh"}
    files = {
        "tests/test.sh": '[ -z "$OPERATOR_KEY" ] && sh check.sh && mkdir -p /logs/verifier && echo 1 > /logs/verifier/reward.txt\n'
    }
    contract = author.write(
        files, oracle={"checks": [verifier]}, setup=['[ -z "$OPERATOR_KEY" ] && echo fine > "$HOME/setup"']
    )
    agent = f'command:{FIX} [ -s "$HOME/setup" ] && [ -n "$OPERATOR_KEY" ]'
    result = with_key(
        steelyard, "run", contract, "--agent", agent, "--agent-env", "OPERATOR_KEY", "--out", tmp_path / "runs", "--json"
    )  # fmt: skip
    assert (result.line["termination"], result.line["verdict"]) == ("completed", "pass"), result
    assert places_with_key(tmp_path / "runs") == []


class Listener:
    """A server at the agent's host that counts its connections."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.port = 0

    def talk(self, sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            if result := sock.recv(99):  # a connection that says nothing is the trial before a run
                self.heard.append(result)
            sock.sendall(b"yes\n")


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    with serving(found.talk) as found.port:
        yield found


def calling(port: int, word: str) -> str:
    return (
        '/usr/bin/python3 -I -c \'import socket; s = socket.create_connection(("host.internal", '
        f'{port}), 20); s.sendall(b"{word}"); s.recv(9)\''
    )


def test_the_agents_host_is_reached_by_the_agent_and_by_no_check(
    listener: Listener, author: Author, steelyard: Steelyard
) -> None:
    check = {
        "id": "calls",
        "cmd": f"if {calling(listener.port, 'check')}; then exit 1; fi; sh check.sh",
        "timeout_s": 60,
    }
    contract = author.write(oracle={"checks": [check]})
    agent = f"command:{FIX} {calling(listener.port, 'agent')}"
    host = f"host.internal:{listener.port}"
    result = steelyard("run", contract, "--agent", agent, "--agent-host", host, "--json")
    assert (result.line["termination"], result.line["verdict"]) == ("completed", "pass"), result
    assert listener.heard == [b"agent"]
    assert [one["by"] for one in payloads(result.line, "network.connection")] == ["agent"]
    assert result.line["assurance"]["allowed_hosts"] == {"agent": [host]}


def test_a_check_in_the_agents_own_sandbox_does_not_reach_the_agents_host(
    listener: Listener, author: Author, steelyard: Steelyard
) -> None:
    check = {
        "id": "calls",
        "cmd": f"if {calling(listener.port, 'check')}; then exit 1; fi; sh check.sh",
        "timeout_s": 60,
    }
    contract = author.write(bench="live", oracle={"checks": [check]})
    agent = f"command:{FIX} {calling(listener.port, 'agent')}"
    host = f"host.internal:{listener.port}"
    result = steelyard("run", contract, "--agent", agent, "--agent-host", host, "--json")
    assert (result.line["termination"], result.line["verdict"]) == ("completed", "pass"), result
    assert listener.heard == [b"agent"]


def test_a_folder_of_the_agent_is_read_only_no_copy_and_in_no_check(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    """It is larger than the disk quota, so a copy would not fit."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "work").write_text(f"#!/bin/sh\n{FIX} touch /opt/agent/new 2>/dev/null && exit 9\nexit 0\n")
    (tools / "work").chmod(0o755)
    (tools / "large").write_bytes(b"x" * (65 << 20))
    for folder in (tools, tmp_path):
        folder.chmod(0o755)
    check = {"id": "looks", "cmd": "[ ! -e /opt/agent/work ] && sh check.sh", "timeout_s": 60}
    contract = author.write(environment=LIMITS, oracle={"checks": [check]})
    result = steelyard(
        "run", contract, "--agent", "command:/opt/agent/work", "--agent-path", f"{tools}:/opt/agent", "--json"
    )
    assert (result.line["termination"], result.line["verdict"]) == ("completed", "pass"), result
    assert sorted(path.name for path in tools.iterdir()) == ["large", "work"]
    (folder,) = json.loads(Path(result.line["folder"], "manifest.json").read_text())["agent"]["folders"]
    assert (folder["path"], len(folder["digest"])) == ("/opt/agent", 64)


def test_a_folder_of_the_agent_is_no_part_of_a_changed_system(
    author: Author, steelyard: Steelyard, tmp_path: Path
) -> None:
    """A foreign image, unchanged: the agent comes by a mount, and the mount is not the agent's work."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "work").write_text("#!/bin/sh\necho done > /srv/done\n")
    (tools / "work").chmod(0o755)
    tools.chmod(0o755)
    environment = {**LIMITS, **in_docker(), "scope": "system"}
    check = {"id": "looks", "cmd": "[ -e /srv/done ] && [ ! -e /opt/mine ]", "timeout_s": 60}
    contract = author.write(environment=environment, repository=None, oracle={"checks": [check]})
    result = steelyard(
        "run", contract, "--agent", "command:/opt/mine/tools/work",
        "--agent-path", f"{tools}:/opt/mine/tools", "--json",
    )  # fmt: skip
    assert (result.line["termination"], result.line["verdict"]) == ("completed", "pass"), result
    change = json.loads(Path(result.line["folder"], "change.json").read_text())
    assert [entry["path"] for entry in change["entries"] if "root/" not in entry["path"]] == ["srv/done"]
