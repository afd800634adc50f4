"""Allowed hosts through the command line: which sandbox may reach which host, and what is recorded."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from containers import in_docker
from far_hosts import echo, pour, serving, unused_port

from authoring import FIX, Author, Steelyard, payloads

SANDBOXES = ["bubblewrap", "docker"]
HOST = "host.internal"
LIMITS = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}

# `sh say PORT WORD`: prints the answer of the echo server at the allowed host; exit 1 where there is none.
SAY = f"""/usr/bin/python3 -I -c '
import socket, sys
with socket.create_connection(("{HOST}", int(sys.argv[1])), 60) as made:
    made.sendall(sys.argv[2].encode()); made.shutdown(socket.SHUT_WR)
    while part := made.recv(99): print(part.decode())
' "$@" 2>/dev/null
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving(echo) as found:
        yield found


def environment(kind: str, **keys: Any) -> dict[str, Any]:
    return {**LIMITS, **(in_docker() if kind == "docker" else {}), **keys}


def check(line: str) -> dict[str, Any]:
    return {"id": "adds", "cmd": line, "timeout_s": 60}


def test_an_agent_reaches_what_the_contract_names_and_checks_do_not(
    kind: str, port: int, author: Author, steelyard: Steelyard
) -> None:
    """Only the agent may reach the host; the record has its connections, and the assurance label is lower."""
    allowed_hosts = [f"{HOST}:{port}"]
    contract = author.write(
        {"repo/say": SAY},
        environment=environment(kind, network=allowed_hosts),
        oracle={"checks": [check(f"grep -q word said && ! sh say {port} x")]},
    )
    result = steelyard("run", contract, "--agent", f"command:sh say {port} word > said", "--json")
    assert (result.line["verdict"], result.line["assurance"]["network"]) == ("pass", "allow_list"), result
    assert result.line["assurance"]["allowed_hosts"] == {"agent": allowed_hosts}
    assert result.line["cost"]["usd"] is None
    (one,) = payloads(result.line, "network.connection")
    assert one.pop("opened") > 0
    assert one == {
        "by": "agent", "to": allowed_hosts[0], "out_bytes": 4, "in_bytes": 4, "failed": None, "count": 1, "refused": 0,
    }  # fmt: skip
    (brief,) = payloads(result.line, "brief")
    assert brief["obligations"]["network"] == allowed_hosts
    manifest = json.loads(Path(result.line["folder"], "manifest.json").read_bytes())
    assert manifest["environment"]["network"] == allowed_hosts
    report = json.loads(next(Path(result.line["folder"]).rglob("report.json")).read_bytes())
    assert report["replay"] == [{"kind": "changes"}]
    shown = steelyard("show", result.line["folder"])
    assert f"network agent {allowed_hosts[0]}" in " ".join(shown.out.split())


def test_setup_reaches_what_it_names_and_agents_do_not(
    kind: str, author: Author, steelyard: Steelyard
) -> None:
    """And nothing else: with a list there is no network of the host's behind it."""
    with serving(pour(3)) as port:
        fetch = f"""/usr/bin/python3 -I -c '
import socket
print([name for _, name in socket.if_nameindex()], socket.create_connection(("{HOST}", {port}), 60).recv(9).decode())
' > fetched"""
        contract = author.write(
            environment=environment(kind),
            setup=[fetch],
            setup_network=[f"{HOST}:{port}"],
            oracle={"checks": [check("""grep -qF "['lo'] yyy" fetched""")]},
        )
        result = steelyard("run", contract, "--agent", f"command:! getent hosts {HOST}", "--json")
    assert result.line["verdict"] == "pass", result
    assert result.line["assurance"]["network"] == "none"
    manifest = json.loads(Path(result.line["folder"], "manifest.json").read_bytes())
    assert manifest["environment"]["setup"]["network"] == "fetched"
    assert manifest["environment"]["setup"]["allowed_hosts"] == [f"{HOST}:{port}"]


def test_a_check_reaches_what_the_oracle_names_and_the_label_says_so(
    kind: str, port: int, author: Author, steelyard: Steelyard
) -> None:
    """Who does not want to believe such a verdict can refuse it."""
    contract = author.write(
        {"repo/say": SAY},
        environment=environment(kind),
        oracle={
            "checks": [check(f"sh check.sh && sh say {port} tool | grep -q tool")],
            "network": [f"{HOST}:{port}"],
        },
    )
    result = steelyard("run", contract, "--agent", f"command:{FIX}! getent hosts {HOST}", "--json")
    assert result.line["verdict"] == "pass", result
    label = result.line["assurance"]
    assert (label["network"], label["allowed_hosts"]) == ("allow_list", {"checks": [f"{HOST}:{port}"]})
    (one,) = payloads(result.line, "network.connection")
    assert (one["by"], one["out_bytes"], one["failed"]) == ("check", 4, None)
    if kind == "bubblewrap":
        words = ("--agent", f"command:{FIX}", "--require-assurance", "network=none", "--json")
        refused = steelyard("run", contract, *words)
        assert (refused.line["verdict"], refused.line["refused"]) == (
            "ungraded",
            "assurance: network allow_list < none",
        )


@contextlib.contextmanager
def there_once() -> Iterator[int]:
    """A server that accepts one connection and ends."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            with contextlib.suppress(OSError):
                server.accept()[0].close()
            server.close()

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield int(server.getsockname()[1])
    thread.join(5)


def needing(port: int, author: Author, **reached: Any) -> Path:
    """A contract whose check connects to that host."""
    folder: Path = author.write(
        {"repo/say": SAY},
        environment={**LIMITS, **reached},
        oracle={
            "checks": [check(f"sh check.sh && sh say {port} tool | grep -q tool")],
            "network": [f"{HOST}:{port}"],
        },
    )
    return folder


def test_a_host_of_the_checks_that_is_away_is_no_failure_of_the_agents(
    author: Author, steelyard: Steelyard
) -> None:
    """Whatever the agent did: the run does not count, is run again, and its message names the host."""
    port = unused_port()
    result = steelyard("run", needing(port, author), "--agent", "noop", "--json")
    assert (result.code, len(result.lines)) == (3, 2)
    for line in result.lines:
        assert (line["verdict"], line["termination"]) == ("invalid", "infrastructure"), result
        assert f"{HOST}:{port} (Connection refused)" in line["reason"]
        assert payloads(line, "check.start") == []


def test_an_agent_that_could_take_the_host_away_gains_nothing_by_it(
    author: Author, steelyard: Steelyard
) -> None:
    """The agent has allowed hosts, so the host is tried before it starts; if it goes away afterwards, the check fails."""
    with there_once() as port:
        contract = needing(port, author, network=["some.example:443"])
        line = steelyard("run", contract, "--agent", "noop", "--json").line
    assert (line["status"], line["verdict"]) == ("scorable", "fail")


def test_a_change_that_takes_the_host_away_in_a_step_gains_nothing_in_the_next(
    author: Author, steelyard: Steelyard
) -> None:
    with there_once() as port:
        steps = [
            {"name": name, "brief": "Say it.", "checks": [{**check(line), "id": name}]}
            for name, line in (("one", "true"), ("two", f"sh say {port} tool | grep -q tool"))
        ]
        oracle = {"network": [f"{HOST}:{port}"]}
        contract = author.write({"repo/say": SAY}, environment=LIMITS, brief=None, oracle=oracle, steps=steps)
        line = steelyard("run", contract, "--agent", "command:true", "--json").line
    assert (line["status"], line["verdict"]) == ("scorable", "fail"), line


def test_show_says_which_connections_failed(author: Author, steelyard: Steelyard) -> None:
    """The report says that a check failed because its host was unreachable."""
    with there_once() as port:
        result = steelyard("run", needing(port, author), "--agent", f"command:{FIX}", "--json")
    shown = " ".join(steelyard("show", result.line["folder"]).out.split())
    assert f"network: a check's connection to {HOST}:{port} failed: Connection refused" in shown


def test_setup_that_wants_other_hosts_gets_the_list_of_allowed_ones(
    author: Author, steelyard: Steelyard
) -> None:
    contract = author.write(setup=["getent hosts other.example"], setup_network=["some.example:443"])
    result = steelyard("run", contract, "--agent", "noop")
    assert "setup can reach only some.example:443" in result.err + result.out


def test_the_local_sandbox_has_no_allowed_hosts(author: Author, steelyard: Steelyard) -> None:
    """Everything is open there, so a list would be a lie."""
    contract = author.write(environment={**LIMITS, "network": ["some.example:443"]})
    result = steelyard("run", contract, "--agent", "noop", "--sandbox", "local")
    assert result.code == 2
    assert "which the local sandbox cannot do" in result.err + result.out


def test_each_step_reaches_the_allowed_host_again(port: int, author: Author, steelyard: Steelyard) -> None:
    """It is shut while what a step left is read, and open for the next."""
    steps = [
        {"name": name, "brief": "Say it.", "checks": [{**check(f"grep -q {name} said"), "id": name}]}
        for name in ("one", "two")
    ]
    contract = author.write(
        {"repo/say": SAY},
        environment={**LIMITS, "network": [f"{HOST}:{port}"]},
        brief=None,
        oracle={},
        steps=steps,
    )
    agent = f"command:sh say {port} $STEELYARD_STEP >> said; cat said"
    result = steelyard("run", contract, "--agent", agent, "--json")
    assert result.line["verdict"] == "pass", result
    assert [one["out_bytes"] for one in payloads(result.line, "network.connection")] == [3, 3]


def test_a_live_bench_has_the_agents_allowed_hosts(port: int, author: Author, steelyard: Steelyard) -> None:
    """The contract has to say so twice; shut in between, they are open for its checks."""
    allowed_hosts = [f"{HOST}:{port}"]
    contract = author.write(
        {"repo/say": SAY},
        bench="live",
        environment={**LIMITS, "network": allowed_hosts},
        oracle={
            "checks": [check(f"sh check.sh && sh say {port} tool | grep -q tool")],
            "network": allowed_hosts,
        },
    )
    result = steelyard("run", contract, "--agent", f"command:{FIX}sh say {port} word", "--json")
    assert (result.line["verdict"], result.line["assurance"]["tree"]) == ("pass", "live"), result
    assert result.line["assurance"]["allowed_hosts"] == {"agent": allowed_hosts, "checks": allowed_hosts}
    assert len(payloads(result.line, "network.connection")) == 2
