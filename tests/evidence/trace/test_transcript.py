"""What was said in a run, read back from its folder: in order, whole where it is short, and bounded where it is not."""

from __future__ import annotations

from pathlib import Path

from steelyard.evidence.folder.folder import RunFolder
from steelyard.evidence.trace.events import EventLog
from steelyard.evidence.trace.transcript import MOST_BYTES, MOST_MESSAGES, read_transcript


def spoken(tmp_path: Path, *answers: str, pointer: str = "agent/stdout{}.txt") -> RunFolder:
    folder = RunFolder.create(tmp_path, "run")
    with EventLog(folder.events) as log:
        for number, answer in enumerate(answers, 1):
            place = pointer.format("" if number == 1 else f"-{number}")
            log.append("brief", "harness", {"text": f"question {number}", "step": None})
            log.append("tool.call", "agent", {"kind": "execute", "argv": ["x"], "whole_agent": True})
            log.append("tool.call", "agent", {"kind": "read", "path": f"file{number}"})
            log.append("tool.result", "agent", {"exit_status": number})
            log.append("agent.message", "agent", {"prefix": answer[:10], "pointer": place, "step": "s"})
            if pointer.startswith("agent/stdout"):
                folder.write_bytes(place, answer.encode())
                folder.write_bytes(place.replace("stdout", "stderr"), b"oh")
    return folder


def test_messages_answers_and_calls_in_order(tmp_path: Path) -> None:
    shown = read_transcript(spoken(tmp_path, "first answer, whole", "second"))
    assert [(one.role, one.step) for one in shown.messages] == [
        ("user", ""),
        ("tool", ""),
        ("assistant", "s"),
    ] * 2
    assert [one.text for one in shown.messages if one.role == "assistant"] == [
        "first answer, whole",
        "second",
    ]
    assert (shown.last_words, shown.errors, shown.exit_code) == ("second", "oh", 2)


def test_of_a_long_answer_both_ends_are_kept(tmp_path: Path) -> None:
    shown = read_transcript(spoken(tmp_path, "begin " + "x" * (1 << 20) + " end"))
    assert shown.last_words.startswith("begin x")
    assert shown.last_words.endswith("x end")
    assert len(shown.last_words) < MOST_BYTES + 100
    assert "bytes ...]" in shown.last_words


def test_of_many_messages_the_first_and_the_last_are_kept(tmp_path: Path) -> None:
    shown = read_transcript(spoken(tmp_path, *(f"a{number}" for number in range(300))))
    assert len(shown.messages) == MOST_MESSAGES + 1
    assert (shown.messages[0].text, shown.messages[-1].text) == ("question 1", "a299")


def test_a_pointer_to_another_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret")
    for pointer in ("../secret.txt", "/etc/hostname", "agent/../../secret.txt", "manifest.json"):
        shown = read_transcript(spoken(tmp_path / pointer.replace("/", "_"), "said", pointer=pointer))
        assert shown.messages[-1].text == "said"
        assert shown.last_words == ""


def test_a_link_in_the_place_of_an_answer_is_not_followed(tmp_path: Path) -> None:
    folder = spoken(tmp_path, "said")
    (tmp_path / "secret.txt").write_text("a secret")
    (folder.path / "agent/stdout.txt").unlink()
    (folder.path / "agent/stdout.txt").symlink_to(tmp_path / "secret.txt")
    assert read_transcript(folder).last_words == ""


def test_a_folder_without_events_says_nothing(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path, "run")
    assert read_transcript(folder) == ((), "", "", None)
    folder.events.write_text("no JSON\n")
    assert read_transcript(folder).messages == ()


def test_the_last_words_of_a_client_with_a_trace_are_its_final_response(tmp_path: Path) -> None:
    """All that its process printed is the trace; calls inside it have exit codes of their own."""
    folder = RunFolder.create(tmp_path, "run")
    with EventLog(folder.events) as log:
        log.append("agent.message", "agent", {"prefix": "I look.", "source": "codex"})
        log.append("tool.result", "agent", {"whole_agent": True, "exit_status": 0})
        log.append("tool.result", "agent", {"exit_status": 7, "source": "codex"})
        log.append("agent.trace", "harness", {"stdout": {"pointer": "agent/stdout.txt"}})
    folder.write_bytes("agent/stdout.txt", b"{}")
    folder.write_bytes("agent/stderr.txt", b"oh")
    folder.write_bytes("final_response.txt", b"Done.")
    shown = read_transcript(folder)
    assert [one.text for one in shown.messages] == ["I look."]
    assert (shown.last_words, shown.errors, shown.exit_code) == ("Done.", "oh", 0)
