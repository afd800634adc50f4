"""What an agent reads: the brief, the hints, and the rules that its work is held to; and the event that holds the bytes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from authoring import Author, Steelyard, payloads

READS = 'cat "$HOME/.steelyard-brief.md"\n'


def read_by_the_agent(line: dict[str, Any], number: int = 1) -> str:
    name = "stdout.txt" if number == 1 else f"stdout-{number}.txt"
    return Path(line["folder"], "agent", name).read_text()


def test_the_agent_reads_scope_network_and_time_beside_the_task(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(hints=["tests: check.sh"], policy={"allowed_paths": ["src/**", "add.sh"]})
    line = steelyard("run", contract, "--agent", script(READS), "--json").line
    assert read_by_the_agent(line) == (
        "Make add() add.\n\nHints:\n- tests: check.sh\n\nRules:\n"
        "- Change only files that match one of: src/**, add.sh\n- There is no network.\n- You have 30 seconds.\n"
    )


def test_the_event_holds_the_bytes_that_were_delivered(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(hints=["tests: check.sh"])
    line = steelyard("run", contract, "--agent", script(READS), "--json").line
    (brief,) = payloads(line, "brief")
    delivered = read_by_the_agent(line)
    assert brief["text"] == delivered
    assert brief["digest"] == hashlib.sha256(delivered.encode()).hexdigest()
    assert brief["bytes"] == len(delivered.encode())
    assert brief["obligations"] == {"allowed_paths": [], "network": "none", "wall_s": 30, "of": "run"}


def test_a_command_line_with_the_brief_in_it_has_the_rules_too(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(), "--agent", "command:printf %s {brief}", "--json").line
    assert read_by_the_agent(line) == payloads(line, "brief")[0]["text"]


def test_a_brief_too_long_for_an_event_is_whole_in_a_blob(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    contract = author.write(brief="Make add() add. " * 20_000)
    line = steelyard("run", contract, "--agent", script(READS), "--json").line
    (brief,) = payloads(line, "brief")
    whole = Path(line["folder"], "blobs", brief["blob"]).read_bytes()
    assert (len(whole), hashlib.sha256(whole).hexdigest()) == (brief["bytes"], brief["digest"])
    assert whole.decode() == read_by_the_agent(line)


def test_a_step_with_its_own_time_says_so(author: Author, steelyard: Steelyard, script: Any) -> None:
    check = {"id": "there", "cmd": "true", "timeout_s": 60}
    steps = [{"name": "one", "brief": "Do one.", "checks": [check], "wall_s": 9}]
    steps += [{"name": "two", "brief": "Do two.", "checks": [check]}]
    folder = author.write(oracle={}, steps=steps)
    text = (folder / "contract.yaml").read_text().replace("brief: Make add() add.\n", "", 1)
    (folder / "contract.yaml").write_text(text)
    line = steelyard("run", folder, "--agent", script(READS), "--json").line
    assert read_by_the_agent(line).endswith("- You have 9 seconds for this step.\n")
    assert read_by_the_agent(line, 2).endswith("- You have 30 seconds.\n")
