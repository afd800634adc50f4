"""The recorded changes of a run are made again in a fresh sandbox: the same result, or the first difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from authoring import FIX, Author, Steelyard
from steelyard.agents.replay import Mutation, _is_passing, read_mutations
from steelyard.evidence.evidence import load_evidence
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.events import EventLog
from steelyard.filesystem.tree import Entry
from steelyard.study.replay import compare_replay, first_divergence

EDITS = """
printf x > "$(printf 'caf\\351\\n y')"; ln -s nowhere link; mkdir empty; chmod 755 add.sh; mv README.md docs.md
rm check.sh; mkdir check.sh; echo 1 > check.sh/in; sleep 0.2
rm -r check.sh; echo '[ "$(sh add.sh 2 3)" = 5 ]' > check.sh
"""


def test_a_replay_gives_the_same_change_and_the_same_verdict_each_time(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    line = steelyard("run", author.write(), "--agent", script(EDITS + FIX), "--json").line
    result = steelyard("replay", line["run"], "--times", 2, "--json")
    assert result.code == 0, result.out + result.err
    first, second = result.lines
    assert first["change"] == second["change"]
    assert first["change"]["same"]
    assert first["checks"] == [{"id": "adds", "recorded": "pass", "replayed": "pass"}]
    assert first["verdict"] == {"recorded": "pass", "replayed": "pass"}
    assert first["divergence"] is None
    assert steelyard("replay", "last").out.startswith(f"same  {line['run']}")  # replays are no runs
    assert steelyard("verify", "--complete", first["folder"]).code == 0


def test_steps_are_replayed_one_by_one(author: Author, steelyard: Steelyard, script: Any) -> None:
    step = {"checks": [{"id": "there", "cmd": "test -e one"}], "brief": "Write one."}
    steps = [
        {"name": "first", **step},
        {
            "name": "second",
            "brief": "Write two.",
            "checks": [{"id": "gone", "cmd": "test -e two && ! test -e one"}],
        },
    ]
    contract = author.write(steps=steps, oracle={}, brief=None)
    work = "case $STEELYARD_STEP in first) touch one;; *) mv one two;; esac"
    line = steelyard("run", contract, "--agent", script(work), "--json").line
    assert line["verdict"] == "pass", line
    result = steelyard("replay", line["run"], "--json")
    assert (result.code, result.line["same"]) == (0, True), result.out


def test_a_large_file_that_is_gone_in_the_end_is_left_out(
    author: Author, steelyard: Steelyard, script: Any
) -> None:
    work = "head -c 2M /dev/zero > large; sleep 0.3; rm large\n" + FIX
    line = steelyard("run", author.write(), "--agent", script(work), "--json").line
    assert steelyard("replay", line["run"]).code == 0


def test_the_first_difference_is_a_path_before_it_is_a_check(author: Author, steelyard: Steelyard) -> None:
    contract = author.write()
    lines = steelyard("run", contract, "--agent", "reference", "--agent", "noop", "--json").lines
    fixed, none = (load_evidence(RunFolder(Path(line["folder"]))) for line in lines)
    compared = compare_replay(fixed, none, ("pass", "fail"))
    assert (compared["same"], compared["change"]["same"]) == (False, False)
    first = first_divergence(json.loads(json.dumps(compared)))
    assert first is not None
    assert (first.kind, first.where, first.replayed) == ("path", "add.sh", "unchanged")


def test_an_altered_record_is_not_replayed(author: Author, steelyard: Steelyard, script: Any) -> None:
    line = steelyard("run", author.write(), "--agent", script(FIX), "--json").line
    log = Path(line["folder"], "events.jsonl")
    log.write_text(log.read_text().replace("add.sh", "bad.sh", 1))
    result = steelyard("replay", line["run"])
    assert result.code == 2
    assert "its record was altered" in result.err


def test_a_missing_content_is_left_out_only_where_the_path_changes_again(tmp_path: Path) -> None:
    lost = Mutation(7, "a", Entry("file", "644", 1, "a" * 64), 1)
    assert _is_passing(lost, Blobs(tmp_path), {"a": 9})
    assert not _is_passing(lost, Blobs(tmp_path), {"a": 7})


def test_a_rename_is_a_removal_and_what_came_of_it(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    file = {"kind": "file", "mode": "644", "size": 1, "sha256": "a" * 64}
    with EventLog(folder.events) as log:
        log.append(
            "workspace.change",
            "harness",
            {"path": "new", "renamed_from": "old", "before": file, "after": file},
        )
        log.append("brief", "harness", {})
        log.append("workspace.changes", "harness", {"rows": [["d", None, "dir", None]]})
    shown = [(one.path, one.after is None, one.message) for one in read_mutations(folder)]
    assert shown == [("old", True, 0), ("new", False, 0), ("d", True, 1)]
