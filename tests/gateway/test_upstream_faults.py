"""What an upstream can do wrong: what the client gets, what is recorded, and that nothing is charged twice."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from gateway_rig import MakeRig, Rig
from steelyard.gateway.upstream.waiting import UpstreamRetryPolicy

USAGE = {"tokens_in": 1000, "tokens_out": 50}
QUICK = UpstreamRetryPolicy(attempts=3, backoff_s=0.001)
TEXT = "An answer that is long enough to be cut into several events of a stream. " * 3


def faulty(**fault: Any) -> dict[str, Any]:
    return {"turns": [{"text": TEXT, "fault": fault}], "usage": USAGE}


def ask_and_break(made: Rig, **keys: Any) -> None:
    """The connection ends before the answer does."""
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        made.ask(stream=True, **keys)


def settled(made: Rig, *types: str, count: int = 1) -> list[dict[str, Any]]:
    """The gateway writes an event after the client got its last byte."""
    ends = time.monotonic() + 300
    while len(made.payloads(*types)) < count and time.monotonic() < ends:
        time.sleep(0.01)
    found: list[dict[str, Any]] = made.payloads(*types)
    return found


def test_an_overloaded_upstream_is_asked_again_and_billed_once(rig: MakeRig) -> None:
    made = rig(faulty(status=429, retry_after=0, times=3))
    assert made.ask().status == 200
    (response,) = made.payloads("model.response")
    assert (response["attempts"], response["usage"]["tokens_in"]) == (4, 1000)
    assert [one["why"] for one in made.payloads("model.wait")] == ["HTTP 429"] * 3
    assert len(made.payloads("cost")) == 1


@pytest.mark.parametrize("status", [500, 503, 529])
def test_a_server_error_is_asked_again(status: int, rig: MakeRig) -> None:
    assert rig(faulty(status=status)).ask().status == 200


def test_a_storm_of_refusals_ends_with_the_upstreams_own_answer_and_costs_nothing(rig: MakeRig) -> None:
    made = rig(faulty(status=429, retry_after=0, times=1000), retry=QUICK)
    got = made.ask()
    assert (got.status, got.headers.get("retry-after")) == (429, "0")
    (error,) = made.payloads("model.error")
    assert (error["status"], error["attempts"]) == (429, 3)
    assert (made.payloads("cost"), made.payloads("model.response"), made.failures) == ([], [], [])


def test_an_upstream_that_asks_for_more_patience_than_there_is_is_not_waited_for(rig: MakeRig) -> None:
    made = rig(faulty(status=429, retry_after=86400, times=9))
    assert made.ask().status == 429
    assert made.payloads("model.wait") == []


def test_waits_at_the_same_time_are_counted_once(rig: MakeRig) -> None:
    made = rig(faulty(status=429, retry_after=0.3, times=2))
    threads = [threading.Thread(target=made.ask) for _ in range(2)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took_s = time.monotonic() - begun
    waits = made.payloads("model.wait")
    total_s = max(one["total_ns"] for one in waits) / 1e9
    assert 0.29 <= total_s <= min(took_s, sum(one["wait_ns"] for one in waits) / 1e9 + 0.01)


def test_an_upstream_that_hangs_is_given_up(rig: MakeRig) -> None:
    made = rig(faulty(hang=True), retry=UpstreamRetryPolicy(silence_s=0.3))
    assert made.ask().status == 504
    (error,) = made.payloads("model.error")
    assert error["kind"] == "timeout"
    assert made.payloads("cost") == []


def test_a_stream_that_drops_is_billed_by_what_came_and_the_client_sees_the_break(rig: MakeRig) -> None:
    made = rig(faulty(drop=4))
    ask_and_break(made)
    (response,) = settled(made, "model.response")
    assert (response["complete"], response["ended"], response["usage"]["estimated"]) == (
        False,
        "dropped",
        True,
    )
    assert response["usage"]["tokens_in"] == 1000  # the first event has it
    assert 0 < response["usage"]["tokens_out"] < 50
    assert made.ask(stream=True).status == 200  # the client's own retry is another request
    assert len(settled(made, "cost", count=2)) == 2


def test_an_answer_that_drops_before_its_first_byte_is_asked_again(rig: MakeRig) -> None:
    made = rig(faulty(drop=0))
    assert made.ask(stream=True).status == 200
    assert len(made.payloads("cost")) == 1


def test_malformed_events_are_passed_on_and_counted(rig: MakeRig) -> None:
    made = rig(faulty(malformed=2))
    got = made.ask(stream=True)
    assert got.body.count(b'{"text\n') == 2
    (response,) = made.payloads("model.response")
    assert (response["malformed_events"], response["usage"]["tokens_out"]) == (2, 50)


def test_a_content_length_that_is_too_long_is_a_broken_answer(rig: MakeRig) -> None:
    made = rig(faulty(content_length=100))
    ask_and_break(made)
    (response,) = settled(made, "model.response")
    assert (response["ended"], response["usage"]["estimated"]) == ("dropped", True)


def test_a_chunk_of_a_hundred_megabytes_is_cut_and_takes_little_memory(rig: MakeRig) -> None:
    made = rig(faulty(chunk_bytes=100 << 20))
    ask_and_break(made)
    (response,) = settled(made, "model.response")
    assert response["ended"] == "cut"
    assert "64 MiB" in response["cut"]
    assert response["blob_cut"] > 50 << 20  # what is kept is bounded
    assert made.ask(stream=True).status == 200


def test_an_upstream_that_cannot_be_reached_fails_the_run_and_not_the_agent(rig: MakeRig) -> None:
    made = rig(url="http://127.0.0.1:1", retry=QUICK)
    assert made.ask().status == 502
    assert "cannot be reached" in made.failures[0]
    assert made.payloads("model.error")[0]["kind"] == "connection"


def test_an_upstream_that_has_answered_before_is_not_blamed(rig: MakeRig) -> None:
    """Otherwise an agent could bring its server down and get another run."""
    made = rig({"turns": [{"text": "first"}], "usage": USAGE}, retry=QUICK)
    assert made.ask().status == 200
    made.route.blame_upstream("it is gone")
    assert made.failures == []


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_fails_the_run_for_good_and_its_message_stays_outside(
    rig: MakeRig, status: int
) -> None:
    refusing = {"status": status, "body": "Incorrect API key provided: sk-real-0123"}
    made = rig({"turns": [refusing], "models_status": status})
    got = made.ask()
    assert got.status == status
    assert b"sk-real" not in got.body
    assert "ANTHROPIC_API_KEY" in made.failures[0]
    assert made.route.is_lasting


def test_a_key_that_a_model_took_before_is_not_blamed(rig: MakeRig) -> None:
    branch = {"match": "another", "turns": [{"status": 403, "body": "not this model"}]}
    made = rig({"turns": [{"text": "yes"}], "branches": [branch], "usage": USAGE})
    asked = [{"role": "user", "content": "another"}]
    assert [made.ask().status, made.ask(messages=asked).status] == [200, 403]
    assert made.failures == []


def test_a_model_that_the_key_does_not_allow_fails_no_run(rig: MakeRig) -> None:
    """Otherwise an agent that asks for such a model first gets another run."""
    made = rig([{"status": 403, "body": "not this model"}])
    assert made.ask().status == 403
    assert made.failures == []


def test_a_request_that_makes_the_upstream_drop_the_connection_fails_no_run(rig: MakeRig) -> None:
    """Its list of models is still there, so the upstream works, and the request is to blame."""
    made = rig(faulty(drop=0, times=100), retry=QUICK)
    assert made.ask(stream=True).status == 502
    assert [one["kind"] for one in made.payloads("model.error")] == ["dropped"]
    assert made.failures == []


def test_an_upstream_that_drops_every_connection_fails_the_run(rig: MakeRig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drop_connections, args=(listening,), daemon=True).start()
        made = rig(url=f"http://127.0.0.1:{listening.getsockname()[1]}", retry=QUICK)
        assert made.ask().status == 502
        assert "cannot be reached" in made.failures[0]


def drop_connections(listening: socket.socket) -> None:
    with suppress(OSError):  # the test has ended
        while True:
            listening.accept()[0].close()


def test_a_gateway_whose_thread_dies_tells_the_run(rig: MakeRig) -> None:
    made = rig([{"text": "hi"}])
    assert made.ask().status == 200
    made.route.server.stop()
    assert made.failures == ["the model gateway has stopped"]
    made.route.close()
    assert len(made.payloads("cost")) == 1


def test_a_request_under_way_when_the_run_ends_is_recorded(rig: MakeRig) -> None:
    made = rig({"turns": [{"text": "late", "delay_s": 60}], "usage": USAGE})

    def ask() -> None:
        with pytest.raises((OSError, http.client.HTTPException)):
            made.ask()

    asking = threading.Thread(target=ask)
    asking.start()
    settled(made, "model.request")
    made.route.close()
    asking.join()
    (error,) = made.payloads("model.error")
    assert error["kind"] == "cancelled"
    assert made.payloads("cost") == []
