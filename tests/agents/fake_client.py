"""Clients that misbehave, installed beside the real ones: each is a small program instead of Claude Code's.

A fake client asks the model once, through the gateway, then does what its name says. It reads its prompt from standard input.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from steelyard.agents.clients.claude_code import ClaudeCode
from steelyard.agents.installation.install import KIND, RECORD, key_of
from steelyard.filesystem.cache import Cache

_BEGIN = """#!/usr/bin/python3
import json, os, signal, subprocess, sys, time, urllib.request
def say(**record): print(json.dumps(record), flush=True)
def result(**fields):
    say(type="result", **{"subtype": "success", "is_error": False, "result": "done", "permission_denials": [],
        "modelUsage": {"m": {"inputTokens": 1000, "outputTokens": 50}}, "total_cost_usd": 0.006, **fields})
def ask():
    body = json.dumps({"model": "claude-opus-5-5", "max_tokens": 100, "messages": [{"role": "user", "content": "go"}]})
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"}
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    return urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)).read()
def fix(): open("add.sh", "w").write("echo $(($1 + $2))\\n")
if sys.argv[1:] == ["--version"]: sys.exit(0)
say(type="system", subtype="init", session_id="s1", model="m", claude_code_version="0")
"""
BEHAVIOURS: Mapping[str, str] = {
    "honest": "ask(); fix(); result()",
    "crash": "ask(); fix(); sys.stdout.flush(); os.kill(os.getpid(), signal.SIGSEGV)",
    "daemonise": (
        "ask(); fix()\n"
        "if os.fork() == 0:\n    os.setsid()\n    null = os.open('/dev/null', os.O_RDWR)\n"
        "    [os.dup2(null, number) for number in range(3)]\n"
        "    while True: time.sleep(0.05); open('add.sh', 'a').write('exit 1\\n')\n"
        "result()"
    ),
    "flood": "ask(); fix(); [os.write(1, b'y\\n' * 500_000) for _ in range(200)]; result()",  # 200 MB
    "binary": "ask(); fix(); sys.stdout.buffer.write(os.urandom(1 << 20) + b'\\n'); sys.stdout.flush(); result()",
    "lie": "ask(); fix(); result(modelUsage={'m': {'inputTokens': 1, 'outputTokens': 1}}, total_cost_usd=0.0)",
    "denied": "ask(); fix(); result(permission_denials=[{'tool_name': 'Edit', 'tool_use_id': 't1'}])",
    "blame": "ask(); result(is_error=True, api_error_status=500, result='API Error: 500'); sys.exit(1)",
    "silent": "ask(); fix()",
    "unreached": "fix(); result()",
    "links": (
        "ask(); fix(); d = os.environ['CLAUDE_CONFIG_DIR'] + '/projects/p'; os.makedirs(d)\n"
        "os.symlink('/etc/passwd', d + '/a.jsonl'); open(d + '/b\\x1b[31m.jsonl', 'w').write('kept')\n"
        "open(d + '/c.jsonl', 'wb').write(b'x' * (9 << 20)); result()"
    ),
    "stubborn": "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwhile True: time.sleep(1)",
    "commands": (
        "ask()\n"
        "def call(id, command):\n"
        "    block = {'type': 'tool_use', 'id': id, 'name': 'Bash', 'input': {'command': command}}\n"
        "    say(type='assistant', message={'id': 'm' + id, 'content': [block]})\n"
        "    done = subprocess.run(['sh', '-c', command], capture_output=True, text=True)\n"
        "    block = {'type': 'tool_result', 'tool_use_id': id, 'content': done.stdout, 'is_error': done.returncode != 0}\n"
        "    say(type='user', message={'content': [block]})\n"
        "call('t1', \"echo 'echo $(($1 + $2))' > add.sh\"); call('t2', 'sh add.sh 2 3')\n"
        "call('t3', 'test -z \"$ANTHROPIC_API_KEY\"'); result()"
    ),
}


def version_of(behaviour: str) -> str:
    return f"0.0.{list(BEHAVIOURS).index(behaviour)}"


def install_fake(cache: Path, behaviour: str) -> str:
    """The `--agent` that runs it."""
    version, package = version_of(behaviour), ClaudeCode.package

    def build(folder: Path) -> None:
        program = folder / package.start_path
        program.parent.mkdir(parents=True)
        program.write_text(_BEGIN + BEHAVIOURS[behaviour] + "\n")
        for path in (*program.parents, program):
            if path.is_relative_to(folder):
                path.chmod(0o755)
        record = {
            "client": "claude_code",
            "version": version,
            "registry": "npm",
            "package": package.name,
            "packages": {},
        }
        (folder / RECORD).write_text(json.dumps(record))
        (folder / RECORD).chmod(0o644)

    Cache(cache).build(KIND, key_of("claude_code", version), build)
    return f"{behaviour}=claude_code:model=claude-opus-5-5,version={version}"
