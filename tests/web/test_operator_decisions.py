"""A run that waits for an operator shows its alert and takes a decision from the viewer, as `steelyard operate` gives one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from held_runs import HELD, held_run_folder
from viewer import Viewer, viewing

from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.chain import read_events

FORM = {
    "alert": "3",
    "decision": "resume",
    "by": "Ada",
    "reason": "it is a sandbox",
    "category": "acceptable_risk",
}
REVIEW, DECIDE = f"/run/{HELD}/review", f"/run/{HELD}/decide"


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    with viewing(tmp_path) as running:
        yield running


def decisions_of(folder: RunFolder) -> list[dict[str, object]]:
    return [event.payload for event in read_events(folder.events) if event.type == "operator.decision"]


@pytest.mark.parametrize("action", ["pause", "suspend_writes"])
def test_the_explorer_finds_a_run_that_waits_for_an_operator(viewer: Viewer, action: str) -> None:
    """With suspended writes the agent goes on, so that later events follow the intervention."""
    with held_run_folder(viewer.site.root, action=action):
        viewer.site.records.sync()
        assert HELD in viewer.ask("/?verdict=paused").text
        assert HELD not in viewer.ask("/?verdict=running").text
        assert 'data-running="yes"' in viewer.ask("/study/all").text


def test_the_review_tab_shows_the_alert_its_evidence_and_a_form(viewer: Viewer) -> None:
    with held_run_folder(viewer.site.root):
        page = viewer.ask(REVIEW).text
        head = viewer.ask(f"/run/{HELD}").text
    for part in ("privilege_escalation", "sudo id; sleep 1", "process.start", "Evidence of the alert"):
        assert part in page, part
    assert 'action="/run/20260307T120000000Z-widgets-quick-abcdef/decide"' in page
    assert "the deadline decides: terminate" in page
    assert "<script>window" not in page
    assert "<img" not in page
    assert "This run waits for an operator" in head


def test_a_decision_of_the_form_becomes_an_event_of_the_run(viewer: Viewer) -> None:
    with held_run_folder(viewer.site.root) as folder:
        answer = viewer.post(DECIDE, FORM)
        after = viewer.ask(answer.headers["Location"]).text
        assert decisions_of(folder) == [{**FORM, "alert": 3}]
    assert answer.status == 303
    assert "The run has taken your decision" in after
    assert "Decision of an operator" not in after


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"reason": "  "}, "needs a reason"),
        ({"by": ""}, "needs the name of the person"),
        ({"decision": "forget"}, "a decision is one of resume, terminate, quarantine"),
        ({"category": "mood"}, "a category is one of"),
        ({"alert": "2"}, "because of another alert"),
    ],
)
def test_a_decision_that_is_not_whole_is_refused_and_keeps_what_was_typed(
    viewer: Viewer, change: dict[str, str], why: str
) -> None:
    with held_run_folder(viewer.site.root) as folder:
        answer = viewer.post(DECIDE, {**FORM, "category": "unsafe", **change})
        assert decisions_of(folder) == []
    assert answer.status == 400
    assert why in answer.text
    assert FORM["by"] in answer.text or not change.get("by", "x")


def test_a_run_that_does_not_wait_takes_no_decision(viewer: Viewer) -> None:
    with held_run_folder(viewer.site.root) as folder:
        viewer.post(DECIDE, FORM)
        late = viewer.post(DECIDE, {**FORM, "by": "Grace"})
        assert [one["by"] for one in decisions_of(folder)] == ["Ada"]
    assert late.status == 400
    assert "does not wait for a decision any more" in late.text


def test_a_run_whose_controller_ended_has_no_form(viewer: Viewer) -> None:
    with held_run_folder(viewer.site.root):
        pass
    page = viewer.ask(REVIEW).text
    assert "its controller ended while the run was paused" in page
    assert "<form" not in page
    assert "nothing runs" in viewer.post(DECIDE, FORM).text
