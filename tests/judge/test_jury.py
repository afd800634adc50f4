"""A jury is asked over HTTP; whatever comes back, or does not, is an opinion or a reason, and never an exception."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from dataclasses import replace

import pytest
from court import QUICK, Sits

from steelyard.gateway.scripted import FAIL, PASS
from steelyard.judge.ask import Panel, judge_run, question
from steelyard.judge.judge_input import JudgeInput, Line
from steelyard.judge.judgement import Judgement, Opinion
from steelyard.judge.panel import NO_KEY

INPUT = JudgeInput("Add two numbers.", diff="diff --git a/x b/x\n+a\n", files_changed=1)
SECRET = "sk-very-secret-0123456789"  # noqa: S105  # of nothing


@pytest.mark.parametrize(
    "model", ["claude-opus-4-8", "gpt-5.4", "o3", "openai:local/qwen", "anthropic:other"]
)
def test_both_wire_formats_are_spoken(court: Sits, model: str) -> None:
    judgement = court([PASS]).judge(INPUT, model)
    (opinion,) = judgement.opinions
    assert (judgement.verdict, opinion.model, opinion.tokens_in, opinion.tokens_out) == (
        "PASS",
        model,
        100,
        10,
    )
    assert opinion.scores == {"task_completion": 5, "instruction_adherence": 5, "efficiency": 4}
    assert (opinion.facts[0].claim, opinion.facts[0].supported) == ("it is done", True)


def test_a_maker_named_in_front_is_not_part_of_the_name(court: Sits) -> None:
    here = court([PASS])
    here.judge(INPUT, "openai:local/qwen")
    assert here.model.requests[0]["body"]["model"] == "local/qwen"
    assert here.model.requests[0]["path"] == "/v1/chat/completions"


def test_a_failure_has_its_mode(court: Sits) -> None:
    judgement = court([FAIL]).judge(INPUT)
    assert (judgement.verdict, judgement.failure_mode) == ("FAIL", "incomplete")


def test_each_model_of_a_jury_is_asked_once(court: Sits) -> None:
    here = court({"claude-a": [PASS], "gpt-b": [FAIL], "*": [PASS]})
    judgement = here.judge(INPUT, "claude-a", "gpt-b", "claude-c", "claude-a")
    assert sorted(request["body"]["model"] for request in here.model.requests) == [
        "claude-a",
        "claude-c",
        "gpt-b",
    ]
    assert (judgement.verdict, judgement.split) == ("PASS", False)
    assert judgement.agreement == pytest.approx(2 / 3)
    assert judgement.scores["task_completion"] == pytest.approx(11 / 3)
    assert [one.model for one in judgement.opinions] == ["claude-a", "gpt-b", "claude-c"]


def test_a_tie_fails_and_says_that_it_was_one(court: Sits) -> None:
    judgement = court({"claude-a": [PASS], "*": [FAIL]}).judge(INPUT, "claude-a", "claude-b")
    assert (judgement.verdict, judgement.split, judgement.agreement) == ("FAIL", True, 0.5)


def test_less_than_half_of_a_jury_is_none(court: Sits) -> None:
    judgement = court({"claude-a": [PASS], "*": [{"text": "well"}]}).judge(
        INPUT, "claude-a", "gpt-b", "gpt-c"
    )
    assert judgement.verdict == "N/A"
    assert judgement.why.startswith("1 of 3 answers could be read: ")
    assert judgement.why.endswith(judgement.opinions[1].error)  # once, though two say it


def test_a_jury_that_lacks_keys_names_each_once(court: Sits) -> None:
    here = court([PASS])
    env = {name: value for name, value in here.env.items() if name.startswith("ANTHROPIC")}
    judgement = replace(here, env=env).judge(INPUT, "claude-a", "gpt-b", "gpt-c")
    assert judgement.verdict == "N/A"
    assert judgement.why == "1 of 3 answers could be read: no key: set OPENAI_API_KEY"
    assert [one.error for one in judgement.opinions[1:]] == ["no key: set OPENAI_API_KEY"] * 2


def test_one_model_without_a_key_does_not_silence_the_others(court: Sits) -> None:
    here = court([PASS])
    env = {name: value for name, value in here.env.items() if name.startswith("ANTHROPIC")}
    judgement = replace(here, env=env).judge(INPUT, "claude-a", "gpt-b", "gemini-c")
    assert [one.error for one in judgement.opinions] == [
        "",
        "no key: set OPENAI_API_KEY",
        "unknown provider of the model 'gemini-c'; write anthropic:NAME or openai:NAME",
    ]


@pytest.mark.parametrize(
    ("models", "env", "why"),
    [
        ((), {}, NO_KEY),
        ((), {"ANTHROPIC_API_KEY": " "}, NO_KEY),
        (("claude-a",), {"OPENAI_API_KEY": "k"}, "no key: set ANTHROPIC_API_KEY"),
        (
            ("claude-a", "gpt-b", "claude-c", "gpt-d"),
            {},
            "no key: set ANTHROPIC_API_KEY; no key: set OPENAI_API_KEY",
        ),
        (("claude-a",), {"ANTHROPIC_API_KEY": "a\nb"}, "ANTHROPIC_API_KEY has characters that no key has"),
        (
            ("gpt-a",),
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "file:///etc"},
            "OPENAI_BASE_URL is not an http(s) address",
        ),
        (
            ("gpt-a",),
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://[x"},
            "OPENAI_BASE_URL is not an http(s) address",
        ),
    ],
)
def test_a_missing_judge_is_explained(models: tuple[str, ...], env: dict[str, str], why: str) -> None:
    assert Panel.from_environment(models, env) == why


@pytest.mark.parametrize(
    ("env", "model"),
    [
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "claude-opus-4-8"),
        ({"OPENAI_API_KEY": "k"}, "gpt-5.4"),
    ],
)
def test_a_key_alone_is_enough_for_a_default_model(env: dict[str, str], model: str) -> None:
    panel = Panel.from_environment((), env)
    assert isinstance(panel, Panel)
    assert panel.models == (model,)


AGAIN = {"status": 429, "headers": {"retry-after": "0"}}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_busy_server_is_asked_again(court: Sits, status: int) -> None:
    here = court([{**AGAIN, "status": status}, {"status": status}, PASS])
    assert here.judge(INPUT).verdict == "PASS"
    assert len(here.model.requests) == 3


def test_a_server_that_stays_busy_is_given_up(court: Sits) -> None:
    here = court([AGAIN])
    judgement = here.judge(INPUT)
    assert (judgement.verdict, judgement.why) == ("UNPARSEABLE", "HTTP 429, asked 5 times")
    assert len(here.model.requests) == 5


def test_a_server_that_wants_us_to_wait_for_ever_is_not_waited_for(court: Sits) -> None:
    """What it asks for is longer than all the time that there is."""
    asked = court([{"status": 429, "headers": {"retry-after": "99999"}}])
    here = replace(asked, retry_policy=replace(QUICK, most_wait_s=2 * QUICK.total_s))
    assert here.judge(INPUT).why == "HTTP 429, asked 1 times"


@pytest.mark.parametrize("refused", ["temperature", "max_completion_tokens"])
def test_an_option_that_a_model_refuses_is_left_out(court: Sits, refused: str) -> None:
    here = court([{"status": 400, "body": f"`{refused}` is deprecated for this model."}, PASS])
    assert here.judge(INPUT, "gpt-a").verdict == "PASS"
    first, second = (request["body"] for request in here.model.requests)
    assert set(first) - set(second) == {refused}


def test_the_temperature_is_zero_where_it_is_taken(court: Sits) -> None:
    here = court([PASS])
    here.judge(INPUT, "claude-a", "gpt-b")
    assert [request["body"]["temperature"] for request in here.model.requests] == [0, 0]


def test_a_model_that_is_known_to_take_no_temperature_is_given_none(court: Sits) -> None:
    here = court([PASS])
    here.judge(INPUT, "claude-opus-4-8", "gpt-5.4", "o3")
    assert not [request for request in here.model.requests if "temperature" in request["body"]]


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ({"status": 400, "body": "no"}, "HTTP 400: no"),
        ({"status": 404, "body": ""}, "HTTP 404"),
        (
            {"status": 401, "body": f"wrong key {SECRET}"},
            "HTTP 401: the key in ANTHROPIC_API_KEY was refused",
        ),
        ({"body": "<html>"}, "not a reply in the format of this provider: <html>"),
        ({"body": "[" * 100_000}, "not a reply in the format of this provider: [[["),
        (
            {"body": '{"content": [{"type": "text", "text": 3}]}'},
            "not a reply in the format of this provider",
        ),
        ({"body": '{"content": null}'}, "not a reply in the format of this provider"),
        ({"text": ""}, "no JSON object with verdict in it"),
        ({"text": '{"verdict": "PA', "cut": True}, "the answer was cut off at the token limit"),
        ({"endless": True}, "a reply of more than 1 MiB"),
        ({"headers": {"content-encoding": "gzip"}}, "a compressed reply, which was not requested"),
        ({"body": "x" * 10, "headers": {"content-length": "9000000"}}, "the connection broke off"),
    ],
)
def test_what_is_no_answer_is_unparseable_with_the_reason(
    court: Sits, reply: dict[str, object], why: str
) -> None:
    judgement = court([reply]).judge(INPUT)
    assert judgement.verdict == "UNPARSEABLE"
    assert judgement.why.startswith(why)
    assert len(judgement.why) < 500


@pytest.mark.parametrize("how", [{"delay_s": 60}, {"drip_s": 0.05}])
def test_a_slow_server_ends_with_the_patience(court: Sits, how: dict[str, float]) -> None:
    here = replace(court([{**PASS, **how}]), retry_policy=replace(QUICK, total_s=0.3))
    judgement = here.judge(INPUT)
    assert judgement.verdict == "UNPARSEABLE"
    assert "took too long" in judgement.why or "timed out" in judgement.why


def test_a_server_that_drips_its_headers_is_left_behind() -> None:
    """Each byte comes in time, and the last one never does."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            stream, _ = server.accept()
            with stream, contextlib.suppress(OSError):
                stream.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                while True:
                    stream.sendall(b"x")
                    time.sleep(0.05)

        threading.Thread(target=drip, daemon=True).start()
        env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}"}
        panel = Panel.from_environment(("gpt-a",), env)
        assert isinstance(panel, Panel)
        judgement = judge_run(INPUT, replace(panel, retry_policy=replace(QUICK, total_s=0.3)))
    assert (judgement.verdict, judgement.why) == ("UNPARSEABLE", "timed out")


def test_an_unreachable_model_is_unparseable() -> None:
    env = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://127.0.0.1:1"}
    panel = Panel.from_environment(("gpt-a",), env)
    assert isinstance(panel, Panel)
    judgement = judge_run(INPUT, replace(panel, retry_policy=QUICK))
    assert judgement.verdict == "UNPARSEABLE"
    assert "refused" in judgement.why


@pytest.mark.parametrize("model", ["claude-a", "gpt-a"])
def test_a_redirect_does_not_take_the_key_along(court: Sits, model: str) -> None:
    other = court([PASS])
    url = other.env["ANTHROPIC_BASE_URL"]
    here = court([{"status": status, "headers": {"location": f"{url}/v1/messages"}} for status in (302, 307)])
    assert [here.judge(INPUT, model).verdict for _ in range(2)] == ["UNPARSEABLE", "UNPARSEABLE"]
    assert other.model.requests == []


@pytest.mark.parametrize("model", ["claude-a", "gpt-a"])
@pytest.mark.parametrize(
    "reply",
    [
        {"status": 400, "body": f"echo {SECRET}"},
        {"body": SECRET},
        {"text": f"I was called with {SECRET}"},
        {"json": {**PASS["json"], "reasoning": f"the key is {SECRET}"}},
    ],
)
def test_the_key_is_in_no_judgement(court: Sits, model: str, reply: dict[str, object]) -> None:
    here = court([reply])
    env = {**here.env, "ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}
    sealed = replace(here, env=env)
    judgement = sealed.judge(INPUT, model)
    assert SECRET not in repr(judgement) + repr(sealed.panel(model)) + json.dumps(judgement.to_json())


def test_a_word_that_serves_as_a_key_is_not_cut_out_of_what_a_model_says(court: Sits) -> None:
    here = court([PASS])
    here.env["ANTHROPIC_API_KEY"] = "y"
    assert here.judge(INPUT).verdict == "PASS"


def test_a_verdict_that_is_known_is_not_asked_for_again(court: Sits) -> None:
    here = court([PASS])
    first = here.judge(INPUT)
    known = {(one.model, one.question): one for one in first.opinions}
    assert judge_run(INPUT, here.panel("claude-test"), known) == first
    assert len(here.model.requests) == 1
    judge_run(replace(INPUT, diff="another"), here.panel("claude-test"), known)
    assert len(here.model.requests) == 2


def test_what_could_not_be_read_is_asked_for_again(court: Sits) -> None:
    here = court([{"text": "?"}, PASS])
    first = here.judge(INPUT)
    known = {(one.model, one.question): one for one in first.opinions}
    assert judge_run(INPUT, here.panel("claude-test"), known).verdict == "PASS"


def test_a_question_is_the_same_until_something_of_it_changes(court: Sits) -> None:
    here = court([PASS])
    asked = here.judge(INPUT).opinions[0].question
    assert here.judge(INPUT).opinions[0].question == asked == question(INPUT, "claude-test")
    others = [
        question(INPUT, "claude-other"),
        *(
            question(shown, "claude-test")
            for shown in (
                replace(INPUT, brief="x"),
                replace(INPUT, kind="session"),
                replace(INPUT, transcript=(Line("user", "\ud800", 0),)),
                replace(INPUT, expected_outcome="refusal"),
            )
        ),
    ]
    assert len({asked, *others}) == 6


def test_a_judgement_can_be_read_back(court: Sits) -> None:
    judgement = court({"claude-a": [PASS], "gpt-b": [FAIL], "*": [{"text": "?"}]}).judge(
        INPUT, "claude-a", "gpt-b", "gpt-c"
    )
    assert Judgement.from_json(json.loads(json.dumps(judgement.to_json()))) == judgement
    assert Judgement.from_json(Judgement.not_applicable("no key").to_json()).verdict == "N/A"


def test_a_key_of_a_later_version_does_not_disturb_reading_back() -> None:
    assert Opinion.from_json({"model": "m", "verdict": "PASS", "later": 1}) == Opinion("m", "PASS")
