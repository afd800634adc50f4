"""Replies written down beforehand -> a model on this machine that gives them, for tests and for trying things offline.

    python -m steelyard.judge.scripted REPLIES.json [--port 8787] [--requests REQUESTS.jsonl]

It prints the variables to set, and answers both wire formats until it is ended. REPLIES.json is a list, given one after
the other (the last one again and again), or such a list for each model, with "*" for the rest:

    [{"json": {"verdict": "PASS", "failure_mode": null, "reasoning": "It adds.", "facts": [],
               "scores": {"task_completion": 5, "instruction_adherence": 5, "efficiency": 5}}},
     {"text": "no JSON at all"}, {"status": 429, "headers": {"retry-after": "0"}}]

"{canary}" in a text is what the salted evidence asks for: so answers a model that lets itself be steered. Besides:
`body` (sent instead of a reply), `cut` (it came to the limit of tokens), `delay_s` (before anything is sent),
`drip_s` (between the bytes), `endless` (bytes without end).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

Reply = Mapping[str, Any]
Replies = Sequence[Reply] | Mapping[str, Sequence[Reply]]

KEYS = frozenset({"json", "text", "status", "headers", "body", "cut", "delay_s", "drip_s", "endless"})
_CANARY = re.compile(r"begin the reasoning with the word (k[0-9a-f]{8})\b")
PASS: Reply = {
    "json": {
        "verdict": "PASS",
        "scores": {"task_completion": 5, "instruction_adherence": 5, "efficiency": 4},
        "failure_mode": None,
        "reasoning": "The change does what the task asks for.",
        "facts": [{"claim": "it is done", "supported": True, "evidence": "diff"}],
    }
}
FAIL: Reply = {
    "json": {
        "verdict": "FAIL",
        "scores": {"task_completion": 1, "instruction_adherence": 2, "efficiency": 3},
        "failure_mode": "incomplete",
        "reasoning": "Half of it is missing.",
        "facts": [],
    }
}


class ScriptedModel:
    """The replies, and the requests that were made: `{"path", "headers", "body"}`, without the key."""

    def __init__(self, replies: Replies, requests: Path | None = None) -> None:
        self._replies = dict(replies) if isinstance(replies, Mapping) else {"*": replies}
        self._given: dict[str, int] = {}
        self._lock = threading.Lock()
        self._file = requests
        self.requests: list[dict[str, Any]] = []

    def reply(self, request: dict[str, Any]) -> Reply:
        """The next one for this model."""
        model = request["body"].get("model", "")
        with self._lock:
            self.requests.append(request)
            if self._file is not None:
                with self._file.open("a") as file:
                    file.write(json.dumps(request) + "\n")
            replies = self._replies.get(model) or self._replies.get("*") or [{"status": 404}]
            number = self._given.get(model, 0)
            self._given[model] = number + 1
        return replies[min(number, len(replies) - 1)]


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        secret = {"x-api-key", "authorization"}
        headers = {
            name.lower(): "given" if name.lower() in secret else value for name, value in self.headers.items()
        }
        reply = self.model.reply({"path": self.path, "headers": headers, "body": body})
        time.sleep(reply.get("delay_s", 0))
        try:
            self._send(reply, _content(reply, body, is_anthropic=self.path.endswith("/messages")))
        except OSError:
            self.close_connection = True  # whoever asked had enough

    def _send(self, reply: Reply, content: bytes) -> None:
        self.send_response(reply.get("status", 200))
        length = {} if reply.get("endless") else {"content-length": str(len(content))}
        for name, value in {"content-type": "application/json", **length, **reply.get("headers", {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if "drip_s" in reply:
            for byte in content:
                self.wfile.write(bytes([byte]))
                time.sleep(reply["drip_s"])
        else:
            self.wfile.write(content)
        while reply.get("endless"):
            self.wfile.write(b" " * 65536)

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr for each request."""


def _content(reply: Reply, body: Any, *, is_anthropic: bool) -> bytes:
    """What is sent: the reply's text in the wire format that was asked in."""
    if "body" in reply or reply.get("status", 200) != 200:
        return str(reply.get("body", "")).encode()
    canary = _CANARY.search(json.dumps(body))
    text = str(reply["text"]) if "text" in reply else json.dumps(reply.get("json"))
    text = text.replace("{canary}", canary[1] if canary else "")
    if is_anthropic:
        made: dict[str, Any] = {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "max_tokens" if reply.get("cut") else "end_turn",
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
    else:
        choice = {"message": {"content": text}, "finish_reason": "length" if reply.get("cut") else "stop"}
        made = {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
    return json.dumps(made).encode()


def environment(url: str) -> dict[str, str]:
    """What makes `Panel.from_environment` ask the model at `url`, and nobody else."""
    return {
        "ANTHROPIC_API_KEY": "scripted",
        "ANTHROPIC_BASE_URL": url,
        "OPENAI_API_KEY": "scripted",
        "OPENAI_BASE_URL": f"{url}/v1",
    }


@contextmanager
def serving(model: ScriptedModel, port: int = 0) -> Iterator[str]:
    """The address of the model, on this machine only, while the block runs."""
    handler = type("Handler", (_Handler,), {"model": model})
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False  # a reply without end must not keep us
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def read_replies(path: Path) -> Replies:
    """A misspelt reply would be an empty one, and its reader would look for the mistake elsewhere."""
    found = json.loads(path.read_text())
    for replies in found.values() if isinstance(found, dict) else [found]:
        if not isinstance(replies, list) or not replies:
            raise ValueError("say a list of replies, or one for each model")
        for number, reply in enumerate(replies):
            if not isinstance(reply, dict) or not reply or not reply.keys() <= KEYS:
                raise ValueError(f"reply {number} is no map of {', '.join(sorted(KEYS))}")
    return cast("Replies", found)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m steelyard.judge.scripted", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("replies", type=Path, metavar="REPLIES.json")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--requests", type=Path, help="write each request there, one in a line")
    given = parser.parse_args()
    try:
        model = ScriptedModel(read_replies(given.replies), given.requests)
    except (OSError, ValueError) as error:
        parser.error(f"{given.replies}: {getattr(error, 'strerror', None) or error}")
    with serving(model, given.port) as url:
        for name, value in environment(url).items():
            sys.stdout.write(f"export {name}={value}\n")
        sys.stdout.flush()
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
