"""Events of a run -> a short account of what led to what: an interpretation, bounded, each sentence with its events (pure).

    {"label": "interpretation", "sentences": [{"text": "the last command before the largest change succeeded",
     "events": [31]}], "left_out": 0}

It reads the events alone: no output of an agent is quoted, and nothing here changes a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.verdict.run_facts import ShortEvent

LABEL = "interpretation"
MOST_SENTENCES, MOST_CHARS = 12, 300


class Sentence(NamedTuple):
    text: str
    events: tuple[int, ...]


def causal_summary(events: Sequence[ShortEvent]) -> dict[str, Any] | None:
    """None where the events tell nothing."""
    sentences = [
        *_sentences_about_work(events),
        *_sentences_about_alerts(events),
        *_sentences_about_checks(events),
        *_sentences_about_the_end(events),
    ]
    if not sentences:
        return None
    return {
        "label": LABEL,
        "sentences": [
            {"text": one.text[:MOST_CHARS], "events": list(one.events)} for one in sentences[:MOST_SENTENCES]
        ],
        "left_out": max(0, len(sentences) - MOST_SENTENCES),
    }


def _sentences_about_work(events: Sequence[ShortEvent]) -> Iterator[Sentence]:
    """What the commands did around the largest change of the workspace."""
    changes = [
        one for one in events if one.type == "workspace.change" and one.payload.get("attributed") is not False
    ]
    results = [
        one for one in events if one.type == "tool.result" and isinstance(one.payload.get("exit_status"), int)
    ]
    largest = max(changes, key=_size, default=None)
    if largest is None:
        return
    number = changes.index(largest) + 1
    yield Sentence(
        f"change {number} of {len(changes)} is the largest ({_size(largest)} bytes)", (largest.seq,)
    )
    before = next((one for one in reversed(results) if one.seq < largest.seq), None)
    if before is not None:
        yield Sentence(f"the last command before it {_ended(before)}", (before.seq,))
    failed = next((one for one in results if one.seq > largest.seq and one.payload["exit_status"] != 0), None)
    if failed is not None:
        earlier = sum(one.seq < failed.seq for one in changes)
        yield Sentence(f"the first command that failed after it came after change {earlier}", (failed.seq,))


def _sentences_about_alerts(events: Sequence[ShortEvent]) -> Iterator[Sentence]:
    alerts = [one for one in events if one.type == "monitor.alert"]
    seen: dict[str, list[int]] = {}
    for one in alerts:
        seen.setdefault(str(one.payload.get("code")), []).append(one.seq)
    for code, seqs in seen.items():
        times = "once" if len(seqs) == 1 else f"{len(seqs)} times, first"
        yield Sentence(f"a monitor reported {code} {times} at event {seqs[0]}", (seqs[0], *seqs[1:][-1:]))


def _sentences_about_checks(events: Sequence[ShortEvent]) -> Iterator[Sentence]:
    checks = [one for one in events if one.type == "check.end"]
    failed = [one for one in checks if one.payload.get("outcome") in ("fail", "error")]
    if not failed:
        return
    passed = [one for one in checks if one.seq < failed[0].seq]
    if passed:
        count = "1 check" if len(passed) == 1 else f"{len(passed)} checks"
        yield Sentence(f"{count} passed before the first that did not", (passed[-1].seq,))
    for one in failed:
        failing = one.payload.get("failing")
        first = f"; first failing test {failing[0]}" if isinstance(failing, list) and failing else ""
        yield Sentence(f"check {one.payload.get('id')} ended {one.payload.get('outcome')}{first}", (one.seq,))


def _sentences_about_the_end(events: Sequence[ShortEvent]) -> Iterator[Sentence]:
    last = next((one for one in reversed(events) if one.type == "termination"), None)
    if last is None or last.payload.get("code") == "completed":
        return
    alert = last.payload.get("alert")
    followed = f" after alert {alert}" if isinstance(alert, int) else ""
    seqs = (last.seq, alert) if isinstance(alert, int) else (last.seq,)
    yield Sentence(f"the run ended by {last.payload.get('code')}{followed}", seqs)


def _size(event: ShortEvent) -> int:
    """Bytes of the larger side; of a change without sizes 0."""
    sides: list[Mapping[str, Any]] = [
        side for side in (event.payload.get("before"), event.payload.get("after")) if isinstance(side, dict)
    ]
    sizes = [side.get("size") for side in sides]
    return max((size for size in sizes if isinstance(size, int)), default=0)


def _ended(event: ShortEvent) -> str:
    return "succeeded" if event.payload["exit_status"] == 0 else f"failed with {event.payload['exit_status']}"
