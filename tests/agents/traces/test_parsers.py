"""What real clients print becomes messages, calls, results and claims, and no input stops a parser."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import native_records as native
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.agents.traces.acp import parse_acp
from steelyard.agents.traces.aider import parse_aider, parse_aider_output
from steelyard.agents.traces.claude_code import parse_claude_code
from steelyard.agents.traces.codex import parse_codex, rejected_calls
from steelyard.agents.traces.gemini_cli import parse_gemini_cli
from steelyard.agents.traces.items import (
    Claim,
    Denial,
    Failure,
    Item,
    Message,
    Parser,
    Retry,
    SessionStart,
    Success,
    ToolCall,
    ToolResult,
)
from steelyard.agents.traces.mini_swe_agent import parse_trajectory
from steelyard.agents.traces.opencode import parse_opencode
from steelyard.agents.traces.openhands import parse_openhands, parse_state

PARSERS: dict[str, Parser] = {
    "claude_code": parse_claude_code,
    "codex": parse_codex,
    "gemini_cli": parse_gemini_cli,
    "opencode": parse_opencode,
    "aider": parse_aider,
    "mini_swe_agent": parse_trajectory,
    "openhands": parse_openhands,
    "acp": parse_acp,
}
TRACES: dict[str, list[dict[str, Any]]] = {
    "claude_code": native.CLAUDE,
    "codex": native.CODEX,
    "gemini_cli": native.GEMINI,
    "opencode": native.OPENCODE,
    "aider": native.AIDER,
    "mini_swe_agent": [native.TRAJECTORY],
    "openhands": native.OPENHANDS,
    "acp": native.ACP,
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


def items(client: str) -> list[Item]:
    found: list[Item] = []
    for record in TRACES[client]:
        parsed = PARSERS[client](record)
        assert parsed is not None
        found += parsed
    return found


def only(kind: type, found: Sequence[Item]) -> list[Any]:
    return [item for item in found if isinstance(item, kind)]


@pytest.mark.parametrize(
    "client", ["claude_code", "codex", "gemini_cli", "opencode", "mini_swe_agent", "openhands"]
)
def test_a_trace_gives_the_message_the_call_and_its_result(client: str) -> None:
    found = items(client)
    assert only(Message, found)[0].text == "I look."
    (call,), (result,) = only(ToolCall, found), only(ToolResult, found)
    assert call.input["command"] == "ls"
    assert (result.id, result.output) == (call.id, "a.py")


@pytest.mark.parametrize("client", TRACES)
def test_a_run_that_finished_is_a_success(client: str) -> None:
    found = items(client)
    assert only(Success, found)
    assert not only(Failure, found)


@pytest.mark.parametrize(
    ("client", "name"),
    [("claude_code", "s1"), ("codex", "t1"), ("gemini_cli", "g1"), ("opencode", "ses_1"), ("acp", "a1")],
)
def test_the_session_that_can_be_resumed_is_named(client: str, name: str) -> None:
    assert name in [start.id for start in only(SessionStart, items(client))]


@pytest.mark.parametrize(
    ("client", "tokens_in", "tokens_out", "cache_read"),
    [
        ("claude_code", 11400, 200, 3900),  # 7000 uncached, 3900 read, 500 written
        ("codex", 10900, 200, 3900),
        ("gemini_cli", 10900, 200, 3900),
        ("opencode", 2300, 50, 800),
        ("acp", 10900, 200, 3900),
        ("aider", 3300, 100, 0),
        ("mini_swe_agent", 3300, 100, 0),  # the usage of a format error counts too
    ],
)
def test_input_tokens_include_the_cache_whatever_the_client_calls_input(
    client: str, tokens_in: int, tokens_out: int, cache_read: int
) -> None:
    claims = only(Claim, items(client))
    summed = [sum(one.tokens_in for one in claims), sum(one.tokens_out for one in claims)]
    assert summed == [tokens_in, tokens_out]
    assert sum(one.cache_read for one in claims) == cache_read


def test_the_state_of_openhands_names_its_session_and_claims_every_use_of_a_model() -> None:
    start, *claims = parse_state(native.OPENHANDS_STATE)
    assert start == SessionStart("o1")
    assert claims == [
        Claim(2000, 100, 800, 0, 0.0125, is_total=False),
        Claim(300, 5, 0, 0, 0.0, is_total=False),
    ]


@pytest.mark.parametrize(
    ("code", "cause"),
    [("MaxIterationsReached", "limit_turns"), ("LLMAuthenticationError", "api"), ("ValueError", "error")],
)
def test_an_error_of_a_conversation_of_openhands_is_a_failure(code: str, cause: str) -> None:
    record = {"kind": "ConversationErrorEvent", "code": code, "detail": "why"}
    assert [one.cause for one in only(Failure, parse_openhands(record) or ())] == [cause]


@pytest.mark.parametrize(("command", "kind"), [("view", "read"), ("str_replace", None)])
def test_the_file_tool_of_openhands_reads_and_writes(command: str, kind: str | None) -> None:
    action = {"kind": "FileEditorAction", "command": command, "path": "/workspace/a.py"}
    record = {"kind": "ActionEvent", "tool_name": "file_editor", "tool_call_id": "c1", "action": action}
    assert [one.kind for one in only(ToolCall, parse_openhands(record) or ())] == [kind]


def test_openhands_that_calls_finish_has_finished() -> None:
    action = {"kind": "FinishAction", "message": "Done."}
    record = {"kind": "ActionEvent", "tool_name": "finish", "tool_call_id": "c1", "action": action}
    assert only(Success, parse_openhands(record) or ()) == [Success("Done.")]


def test_usage_of_single_blocks_of_claude_code_is_not_a_claim() -> None:
    """It is repeated for each block, and was known before the model answered."""
    assert not only(Claim, parse_claude_code(native.claude_message({"type": "text", "text": "x"})) or ())


def test_a_denial_of_claude_code_is_found_in_a_result_that_says_success() -> None:
    record = native.claude_result(permission_denials=[{"tool_name": "Edit", "tool_use_id": "toolu_9"}])
    assert only(Denial, parse_claude_code(record) or ()) == [Denial("Edit", "toolu_9")]


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"subtype": "error_max_turns", "is_error": True, "result": None}, "limit_turns"),
        (
            {"subtype": "error_max_budget_usd", "is_error": True, "errors": ["Reached maximum budget"]},
            "limit_cost",
        ),
        ({"is_error": True, "api_error_status": 400, "result": "API Error: 400"}, "api"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"subtype": "error_during_execution", "is_error": True}, "error"),
    ],
)
def test_a_failure_of_claude_code_has_its_cause(fields: dict[str, Any], cause: str) -> None:
    (failure,) = only(Failure, parse_claude_code(native.claude_result(**fields)) or ())
    assert failure.cause == cause


def test_a_retry_of_claude_code_has_its_status() -> None:
    record = {"type": "system", "subtype": "api_retry", "error_status": 401, "error": "authentication_failed"}
    assert parse_claude_code(record) == (Retry(401, "authentication_failed"),)


def test_a_call_that_codex_rejected_is_found_in_its_rollout() -> None:
    """The stream on standard output leaves it out."""
    (denial,) = rejected_calls(native.ROLLOUT)
    assert (denial.tool, denial.id) == ("apply_patch", "c1")


def test_a_failed_turn_of_codex_is_a_failure_of_the_api() -> None:
    record = {"type": "turn.failed", "error": {"message": "unexpected status 401 Unauthorized"}}
    (failure,) = parse_codex(record) or ()
    assert isinstance(failure, Failure)
    assert failure.cause == "api"


@pytest.mark.parametrize(
    ("ended", "cause"),
    [("LimitsExceeded", "limit_cost"), ("RepeatedFormatError", "error"), ("AuthenticationError", "api")],
)
def test_an_end_of_mini_swe_agent_that_is_no_submission_is_a_failure(ended: str, cause: str) -> None:
    """Its exit code is 0 all the same."""
    record = {**native.TRAJECTORY, "info": {"exit_status": ended}}
    (failure,) = only(Failure, parse_trajectory(record) or ())
    assert failure.cause == cause


def test_a_command_that_failed_in_opencode_is_an_error() -> None:
    """Its status is `completed`; only the exit code tells."""
    (result,) = only(ToolResult, items("opencode"))
    assert (result.is_error, result.exit_code) == (True, 3)


def test_a_permission_that_opencode_rejected_is_a_denial() -> None:
    state = {
        "status": "error",
        "input": {},
        "error": "The user rejected permission to use this specific tool call.",
    }
    record = {"type": "tool_use", "part": {"tool": "bash", "callID": "c1", "state": state}}
    assert only(Denial, parse_opencode(record) or ())[0].tool == "bash"


def test_edits_of_aider_are_read_from_its_output() -> None:
    found = list(parse_aider_output("Tokens: 1k sent\nApplied edit to src/a.py\n"))
    assert only(ToolCall, found)[0].input == {"path": "src/a.py"}


def test_an_api_error_at_the_end_of_aiders_output_is_a_failure() -> None:
    (failure,) = only(Failure, list(parse_aider_output("litellm.AuthenticationError: bad key\n")))
    assert failure.cause == "api"


def test_an_api_error_that_aider_recovered_from_is_none() -> None:
    output = "litellm.RateLimitError: slow down\nTokens: 1k sent, 50 received.\n"
    assert not only(Failure, list(parse_aider_output(output)))


@pytest.mark.parametrize("client", TRACES)
def test_a_record_of_an_unknown_type_is_unknown(client: str) -> None:
    assert PARSERS[client]({"type": "event.of.next.year", "payload": 1}) is None


@pytest.mark.parametrize("client", TRACES)
@given(record=st.dictionaries(st.text(max_size=8), JSON, max_size=4))
def test_no_record_stops_a_parser(client: str, record: dict[str, Any]) -> None:
    PARSERS[client](record)


@pytest.mark.parametrize("client", TRACES)
@given(data=st.data())
def test_a_real_record_with_any_value_in_any_place_stops_no_parser(client: str, data: st.DataObject) -> None:
    record = json.loads(json.dumps(data.draw(st.sampled_from(TRACES[client]))))
    place = record
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if isinstance(place[key], dict | list) and data.draw(st.booleans()):
            place = place[key]
            continue
        place[key] = data.draw(JSON)
        break
    PARSERS[client](record)


@given(st.lists(st.dictionaries(st.text(max_size=8), JSON, max_size=3), max_size=4))
def test_no_rollout_stops_its_reader(records: list[dict[str, Any]]) -> None:
    list(rejected_calls(records))


@given(st.text())
def test_no_output_stops_the_reader_of_aider(output: str) -> None:
    list(parse_aider_output(output))
