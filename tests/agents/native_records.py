"""Small records in the shapes that real clients print, written for these tests."""

from __future__ import annotations

from typing import Any

USAGE = {
    "inputTokens": 7000,
    "outputTokens": 200,
    "cacheReadInputTokens": 3900,
    "cacheCreationInputTokens": 500,
}


def claude_result(**fields: Any) -> dict[str, Any]:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "result": "Done.",
        "stop_reason": "end_turn",
        "total_cost_usd": 0.03528,
        "usage": {"input_tokens": 1, "output_tokens": 1},
        "modelUsage": {"claude-opus-5-5": USAGE},
        "permission_denials": [],
        **fields,
    }


def claude_message(*blocks: dict[str, Any], stop_reason: str | None = None) -> dict[str, Any]:
    usage = {"input_tokens": 1000, "output_tokens": 1}
    return {
        "type": "assistant",
        "message": {"id": "msg_1", "content": list(blocks), "stop_reason": stop_reason, "usage": usage},
    }


CLAUDE: list[dict[str, Any]] = [
    {
        "type": "system",
        "subtype": "init",
        "session_id": "s1",
        "model": "claude-opus-5-5",
        "claude_code_version": "2.1.325",
    },
    claude_message({"type": "thinking", "thinking": "hm"}),
    claude_message({"type": "text", "text": "I look."}),
    claude_message({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}),
    {
        "type": "user",
        "message": {
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.py", "is_error": False}
            ]
        },
    },
    claude_result(),
]

CODEX: list[dict[str, Any]] = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "I look."}},
    {
        "type": "item.started",
        "item": {
            "id": "item_2",
            "type": "command_execution",
            "command": "ls",
            "exit_code": None,
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "item_2",
            "type": "command_execution",
            "command": "ls",
            "aggregated_output": "a.py",
            "exit_code": 2,
            "status": "failed",
        },
    },
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 10900, "cached_input_tokens": 3900, "output_tokens": 200},
    },
]
ROLLOUT: list[dict[str, Any]] = [
    {
        "type": "response_item",
        "payload": {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c1", "input": "*"},
    },
    {
        "type": "response_item",
        "payload": {
            "type": "custom_tool_call_output",
            "call_id": "c1",
            "output": "patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings",
        },
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call", "name": "exec_command", "call_id": "c2", "arguments": "{}"},
    },
    {
        "type": "response_item",
        "payload": {"type": "function_call_output", "call_id": "c2", "output": "Process exited with code 0"},
    },
]

TRAJECTORY = {
    "trajectory_format": "mini-swe-agent-1.1",
    "info": {
        "exit_status": "Submitted",
        "submission": "",
        "model_stats": {"instance_cost": 0.01, "api_calls": 2},
    },
    "messages": [
        {"role": "system", "content": "You are helpful."},
        {
            "role": "assistant",
            "content": "I look.",
            "extra": {
                "actions": [{"command": "ls", "tool_call_id": "c1"}],
                "response": {"usage": {"prompt_tokens": 1000, "completion_tokens": 50}},
            },
        },
        {
            "role": "tool",
            "tool_call_id": "c1",
            "content": "{}",
            "extra": {"raw_output": "a.py", "returncode": 1},
        },
        {
            "role": "user",
            "content": "format error",
            "extra": {"response": {"usage": {"prompt_tokens": 2300, "completion_tokens": 50}}},
        },
        {"role": "exit", "content": "", "extra": {"exit_status": "Submitted"}},
    ],
}

GEMINI: list[dict[str, Any]] = [
    {"type": "init", "session_id": "g1", "model": "gemini-2.5-pro"},
    {"type": "message", "role": "user", "content": "Fix it."},
    {"type": "message", "role": "assistant", "content": "I look.", "delta": True},
    {"type": "tool_use", "tool_name": "run_shell_command", "tool_id": "r1", "parameters": {"command": "ls"}},
    {"type": "tool_result", "tool_id": "r1", "status": "success", "output": "a.py"},
    {
        "type": "result",
        "status": "success",
        "stats": {"input_tokens": 10900, "output_tokens": 200, "cached": 3900},
    },
]

OPENCODE: list[dict[str, Any]] = [
    {"type": "step_start", "sessionID": "ses_1", "part": {"type": "step-start"}},
    {"type": "text", "sessionID": "ses_1", "part": {"type": "text", "text": "I look."}},
    {
        "type": "tool_use",
        "sessionID": "ses_1",
        "part": {
            "tool": "bash",
            "callID": "c1",
            "state": {
                "status": "completed",
                "input": {"command": "ls"},
                "output": "a.py",
                "metadata": {"exit": 3},
            },
        },
    },
    {
        "type": "step_finish",
        "part": {
            "reason": "stop",
            "tokens": {"input": 1500, "output": 50, "reasoning": 0, "cache": {"write": 0, "read": 800}},
            "cost": 0.005,
        },
    },
]

AIDER = [
    {"event": "launched", "properties": {}, "time": 1},
    {
        "event": "message_send",
        "properties": {"prompt_tokens": 1000, "completion_tokens": 50, "cost": 0.003},
        "time": 2,
    },
    {
        "event": "message_send",
        "properties": {"prompt_tokens": 2300, "completion_tokens": 50, "cost": 0.005},
        "time": 3,
    },
    {"event": "exit", "properties": {"reason": "Completed --message-file"}, "time": 4},
]

ACP: list[dict[str, Any]] = [
    {"id": 0, "result": {"protocolVersion": 1, "agentInfo": {"name": "agent", "version": "1.2"}}},
    {"id": 1, "result": {"sessionId": "a1"}},
    {
        "method": "session/update",
        "params": {
            "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "I look."}}
        },
    },
    {
        "method": "session/update",
        "params": {
            "update": {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Terminal", "rawInput": {}}
        },
    },
    {
        "method": "session/update",
        "params": {
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c1",
                "title": "ls",
                "kind": "execute",
                "rawInput": {"command": "ls"},
            }
        },
    },
    {
        "method": "session/update",
        "params": {
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "c1",
                "status": "completed",
                "rawOutput": "a.py",
            }
        },
    },
    {
        "id": 2,
        "result": {
            "stopReason": "end_turn",
            "usage": {
                "inputTokens": 6500,
                "cachedReadTokens": 3900,
                "cachedWriteTokens": 500,
                "outputTokens": 200,
            },
        },
    },
]

OPENHANDS: list[dict[str, Any]] = [
    {
        "kind": "MessageEvent",
        "source": "user",
        "llm_message": {"content": [{"type": "text", "text": "fix it"}]},
    },
    {
        "kind": "ActionEvent",
        "source": "agent",
        "thought": [{"type": "text", "text": "I look."}],
        "action": {"kind": "TerminalAction", "command": "ls", "timeout": None},
        "tool_name": "terminal",
        "tool_call_id": "c1",
    },
    {
        "kind": "ObservationEvent",
        "source": "environment",
        "tool_call_id": "c1",
        "observation": {"content": [{"type": "text", "text": "a.py"}], "is_error": False, "exit_code": 0},
    },
    {
        "kind": "MessageEvent",
        "source": "agent",
        "llm_message": {"content": [{"type": "text", "text": "Done."}]},
    },
]
OPENHANDS_STATE: dict[str, Any] = {
    "id": "o1",
    "execution_status": "finished",
    "stats": {
        "usage_to_metrics": {
            "agent": {
                "accumulated_cost": 0.0125,
                "accumulated_token_usage": {
                    "prompt_tokens": 2000,
                    "completion_tokens": 100,
                    "cache_read_tokens": 800,
                },
            },
            "condenser": {
                "accumulated_cost": 0.0,
                "accumulated_token_usage": {"prompt_tokens": 300, "completion_tokens": 5},
            },
        }
    },
}
