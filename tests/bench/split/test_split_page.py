"""The tests that docs/split.md shows, run as they are shown: they hold for a candidate that is right, and for no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from split_stage import SplitStage, all_passed, details, outcomes

PAGE = Path(__file__).parents[3] / "docs" / "split.md"
SHOWN = dict(re.findall(r"```python\n# (tests/\S+)\n(.*?)```", PAGE.read_text(), re.DOTALL))
SERVER = """
import http.server, json, sys


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        numbers = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps({"total": sum(numbers)}).encode())


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
RIGHT = {
    "till/shares.py": (
        "def share(cents, parts):\n    if parts < 1:\n        raise ValueError('nobody')\n"
        "    low, more = divmod(cents, parts)\n    return [low + 1] * more + [low] * (parts - more)\n"
    ),
    "tally.sh": "total=0\nwhile read number; do total=$((total + number)); done\necho $total\n",
    "report.sh": (
        'total=0\nwhile IFS=, read -r name count; do total=$((total + count)); done < "$1"\necho $total > "$2"\n'
    ),
    "server.py": SERVER,
}
WRONG = {
    "till/shares.py": "def share(cents, parts):\n    return [cents // parts] * parts\n",
    "tally.sh": "echo 7\n",
    "report.sh": 'echo 8 > "$2"\n',
    "server.py": SERVER.replace("sum(numbers)", "7"),
}


SANDBOXES = ["bubblewrap", "docker"]


@pytest.fixture
def split(tmp_path: Path, home_of_pytest: Path, kind: str) -> SplitStage:
    return SplitStage(tmp_path, home_of_pytest, kind)


def test_the_page_shows_a_function_a_program_files_and_a_server() -> None:
    assert len(SHOWN) == 4


def test_what_the_page_shows_passes_for_a_right_candidate(split: SplitStage) -> None:
    ran = split.run(RIGHT, SHOWN)
    assert all_passed(ran), details(ran)


def test_what_the_page_shows_fails_for_a_wrong_candidate(split: SplitStage) -> None:
    ran = split.run(RIGHT, SHOWN, change=WRONG)
    assert set(outcomes(ran).values()) == {"failed"}
