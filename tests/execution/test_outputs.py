"""What agents and checks print is whole in the run folder, up to a limit, and every cut is marked."""

from __future__ import annotations

import functools
import hashlib
import json
from pathlib import Path
from typing import Any

from authoring import FIX, Author, Steelyard, payloads
from steelyard.bench.kept_output import RUN_BYTES, STREAM_BYTES

LINES = "seq 1 1000000"  # 6.9 MB


@functools.cache
def whole() -> bytes:
    return "".join(f"{number}\n" for number in range(1, 1_000_001)).encode()


def blob(line: dict[str, Any], name: str) -> bytes:
    return Path(line["folder"], "blobs", name).read_bytes()


def outcome(line: dict[str, Any], check: str = "adds") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(line["folder"], "checks", check, "outcome.json").read_text())
    return found


def test_a_long_answer_is_whole_in_a_blob_and_cut_only_in_its_file(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(), "--agent", script(LINES), "--json").line
    (result,) = payloads(line, "agent.message")
    assert blob(line, result["blob"]) == whole()
    assert (result["digest"], result["cut"]) == (hashlib.sha256(whole()).hexdigest(), 0)
    view = Path(line["folder"], result["pointer"]).read_bytes()
    assert b"bytes left out" in view
    assert len(view) < len(whole())
    assert steelyard("verify", "--deep", line["run"]).code == 0


def test_bytes_that_are_no_text_are_kept_as_they_are(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(), "--agent", script("printf 'a\\377b'"), "--json").line
    (result,) = payloads(line, "agent.message")
    assert Path(line["folder"], result["pointer"]).read_bytes() == b"a\xffb"
    assert result["digest"] == hashlib.sha256(b"a\xffb").hexdigest()


def test_a_flood_is_cut_at_the_limit_and_the_cut_is_counted(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    flood = STREAM_BYTES + (8 << 20)
    line = steelyard("run", author.write(), "--agent", script(f"yes | head -c {flood}"), "--json").line
    (result,) = payloads(line, "agent.message")
    assert (result["bytes"], result["cut"]) == (flood, 8 << 20)
    assert len(blob(line, result["blob"])) == STREAM_BYTES
    size = sum(path.stat().st_size for path in Path(line["folder"]).rglob("*"))
    assert size < RUN_BYTES


def test_a_checks_long_output_is_whole_in_a_blob(author: Author, steelyard: Steelyard, script: Any) -> None:
    check = {"id": "adds", "cmd": f"{LINES}; sh check.sh", "timeout_s": 60}
    contract = author.write(oracle={"checks": [check], "reference": "reference.patch"})
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    stream = outcome(line)["stdout"]
    assert blob(line, stream["blob"]) == whole()
    assert (stream["digest"], stream["cut"]) == (hashlib.sha256(whole()).hexdigest(), 0)


def test_a_view_of_a_long_output_says_how_much_it_leaves_out(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    check = {"id": "adds", "cmd": f"{LINES}; false", "timeout_s": 60}
    contract = author.write(oracle={"checks": [check], "reference": "reference.patch"})
    line = steelyard("run", contract, "--agent", script(FIX), "--json").line
    (grade,) = [grade for grade in line["grades"] if grade["name"] == "adds"]
    assert grade["output_tail"].startswith("[... ")
    assert "[... " in steelyard("show", line["run"]).out


def test_the_last_answer_is_the_final_response(author: Author, steelyard: Steelyard, script: Any) -> None:
    contract = author.write(turns=["And now?"])
    line = steelyard("run", contract, "--agent", script("echo answer $STEELYARD_TURN"), "--json").line
    (final,) = payloads(line, "agent.final")
    assert final["pointer"] == "final_response.txt"
    assert Path(line["folder"], "final_response.txt").read_text() == "answer 2\n"
    assert final["digest"] == hashlib.sha256(b"answer 2\n").hexdigest()


def test_the_answer_to_the_last_step_taken_is_the_final_response(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    check = {"id": "never", "cmd": "false", "timeout_s": 60}
    steps = [{"name": name, "brief": f"Do {name}.", "checks": [check]} for name in ("one", "two")]
    folder = author.write(oracle={}, steps=steps)
    text = (folder / "contract.yaml").read_text().replace("brief: Make add() add.\n", "", 1)
    (folder / "contract.yaml").write_text(text)
    line = steelyard("run", folder, "--agent", script("echo step $STEELYARD_STEP"), "--json").line
    assert Path(line["folder"], "final_response.txt").read_text() == "step one\n"
    assert len(payloads(line, "agent.final")) == 1


def test_an_agent_without_a_process_gives_no_final_response(author: Author, steelyard: Steelyard) -> None:
    line = steelyard("run", author.write(), "--agent", "noop", "--json").line
    assert payloads(line, "agent.final") == []
    assert not Path(line["folder"], "final_response.txt").exists()
