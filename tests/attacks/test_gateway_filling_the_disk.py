"""An agent sends large requests that cost nothing, until the disk with the run folder is full and the run does not count."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway_rig import MakeRig, request_of, rig, server
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace import request_bodies
from steelyard.evidence.trace.events import read_events
from steelyard.gateway import dispatch

__all__ = ["rig", "server"]

MOST = 200_000


def test_requests_beyond_a_limit_are_recorded_by_their_digest(
    rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_bodies, "MOST_STORED_BYTES", MOST)
    made = rig([{"text": "hi"}])
    _, body = request_of("messages")
    for _ in range(10):
        sent = {**body, "system": os.urandom(30_000).hex()}
        assert made.send("/v1/messages/count_tokens", sent).status == 200
    requests = made.payloads("model.request")
    assert [one["blob"] is not None for one in requests] == [True] * 3 + [False] * 7
    assert all(one["digest"] for one in requests)
    blobs = tmp_path / "blobs"
    assert sum(path.stat().st_size for path in blobs.rglob("*") if path.is_file()) < 2 * MOST
    assert made.ask().status == 200  # short enough to be kept
    whole = request_bodies.request_bodies(read_events(made.log), Blobs(blobs))
    assert [number for number, _ in whole] == [1, 2, 3, 11]


def test_requests_that_cost_nothing_end_the_run_when_there_are_too_many(
    rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is an event, and no other cap counts them."""
    monkeypatch.setattr(dispatch, "MOST_REQUESTS", 3)
    made = rig([{"text": "hi"}])
    _, body = request_of("messages")
    statuses = [made.send("/v1/messages/count_tokens", body).status for _ in range(5)]
    assert statuses == [200, 200, 200, 403, 403]
    assert len(made.payloads("model.request")) == 3
    assert made.route.cap is not None
    assert (made.route.cap.code, str(made.route.cap)) == (
        "model_call_cap",
        "3 of 3 requests to the gateway are used",
    )
    assert made.failures == []
