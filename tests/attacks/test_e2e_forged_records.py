"""A record that is rewritten after the run: no reader may print what it claims as if it were so.

The forger can write the run folder, knows every format, and gives each file he edits the digest that it must carry.
Nothing here is signed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from authoring import Author, Steelyard

Forge = Callable[[dict[str, Any]], Any]


def rewrite(path: Path, forge: Forge) -> None:
    """Edit a file, and make its digest again."""
    data = json.loads(path.read_bytes())
    forge(data)
    body = {key: data[key] for key in data if key not in ("digest", "signature")}
    if "digest" in data:
        data["digest"] = hashlib.sha256(rfc8785.dumps(body)).hexdigest()
    path.write_text(json.dumps(data))


def claim_a_pass(grading: dict[str, Any]) -> None:
    """Every word of it agrees with every other."""
    verdict = grading["verdict"]
    verdict |= {"verdict": "pass", "checks": "PASS", "acceptance": "success", "score": 1.0, "reward": 1.0}
    for one in (*grading["grades"], *verdict["gates"].values()):
        one["outcome"] = "pass"


@pytest.fixture
def failed(steelyard: Steelyard, author: Author) -> Path:
    """A run that broke a policy, and passed its checks otherwise."""
    policy = {"type": "forbid_paths", "patterns": ["add.sh"], "required": True}
    line = steelyard("run", author.write(graders=[policy]), "--agent", "reference", "--json").line
    assert line["verdict"] == "fail"
    return Path(line["folder"])


def test_a_forged_grading_is_shown_as_no_pass(steelyard: Steelyard, failed: Path) -> None:
    rewrite(failed / "gradings/0001.json", claim_a_pass)
    assert steelyard("verify", failed.name).code == 1
    one, table, lines = steelyard("show", failed.name), steelyard("show"), steelyard("show", "--json")
    assert (one.code, table.code, lines.code) == (1, 1, 1)
    assert one.out.startswith("record altered: gradings-head.json: ")
    assert "not verified" in one.out
    assert "verdict invalid" in one.out
    assert table.out.startswith("record altered: ")
    assert "pass " not in table.out
    assert (lines.line["verdict"], lines.line["reward"]) == ("invalid", None)
    assert lines.line["broken"].startswith("gradings-head.json: ")


def test_a_check_that_failed_is_shown_as_no_pass_though_the_head_was_forged_too(
    steelyard: Steelyard, author: Author
) -> None:
    folder = Path(steelyard("run", author.write(), "--agent", "noop", "--json").line["folder"])
    rewrite(folder / "gradings/0001.json", claim_a_pass)
    last = hashlib.sha256((folder / "gradings/0001.json").read_bytes()).hexdigest()
    rewrite(folder / "gradings-head.json", lambda head: head.update(last=last))
    for words in (["show", folder.name], ["show"]):
        result = steelyard(*words)
        assert result.code == 1
        assert "the sealed outcome is fail" in result.out
    assert steelyard("show", folder.name, "--json").line["verdict"] == "invalid"


def test_a_removed_regrade_is_noticed(steelyard: Steelyard, author: Author) -> None:
    contract = author.write()
    line = steelyard("run", contract, "--agent", "noop", "--json").line
    folder = Path(line["folder"])
    steelyard("regrade", folder.name, "--contract", contract)
    assert steelyard("verify", folder.name).code == 0
    (folder / "gradings/0002.json").unlink()
    result = steelyard("verify", folder.name)
    assert (result.code, "1 grading was removed" in result.out) == (1, True)
    assert steelyard("show").out.startswith("record altered: gradings-head.json: 1 grading was removed")


@pytest.mark.parametrize(
    ("name", "forge"),
    [
        ("termination", lambda report: report["termination"].update(code="completed", rationale="well done")),
        ("durations", lambda report: report["durations"].update(wall_s=0.001)),
        ("changed_files", lambda report: report["changed_files"].clear()),
        ("cost", lambda report: report["cost"].update(usd=12.5)),
        ("reason", lambda report: report.update(reason="it went well")),
        ("extra", lambda report: report.update(extra=1)),
        ("turns", lambda report: report.pop("turns")),
    ],
)
def test_an_edited_report_is_found_whatever_was_edited(
    steelyard: Steelyard, failed: Path, name: str, forge: Forge
) -> None:
    rewrite(failed / "report.json", forge)
    result = steelyard("verify", failed.name)
    assert result.code == 1
    assert f"report.json: altered: its `{name}` differs from the record" in result.out


@pytest.mark.parametrize(
    "agent", ["noop", "reference", "command:sh -c 'exit 3'", "command:sh -c 'echo 1 > a; rm add.sh'"]
)
def test_an_untouched_record_verifies(steelyard: Steelyard, author: Author, agent: str) -> None:
    line = steelyard("run", author.write(), "--agent", agent, "--json").line
    result = steelyard("verify", line["run"], "--deep")
    assert result.code == 0, result.out
    assert steelyard("show", line["run"]).code == 0
