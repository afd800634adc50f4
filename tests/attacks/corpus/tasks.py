"""Two small repositories with a bug each, and contracts about them in every mode of the oracle.

contract/
  contract.yaml, reference.patch
  hidden/...            the tests that decide; SENTINEL is in them
  repo/...              what the agent gets; the Python one brings pytest along as one archive
"""

from __future__ import annotations

import difflib
import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import yaml

from offline_pytest import PYTHON as SYSTEM_PYTHON
from offline_pytest import made_once

Mode = Literal["in_process", "twin", "split"]

SENTINEL = "only-the-bench-may-know-this-5d21"  # in the hidden tests
SOLUTION = "only-the-author-may-know-this-90cc"  # in the reference
PYTEST = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")  # all of pytest, as of this environment

WEEKS = "roster/weeks.py"
WEEKS_TEXT = '''"""Lists of days, cut into weeks and pages."""


def chunks(items, size):
    """Cut `items` into lists of `size`; the last one may be shorter."""
    if size < 1:
        raise ValueError("size must be at least 1")
    full = len(items) // size
    return [list(items[n * size : (n + 1) * size]) for n in range(full)]


def pages(count, size):
    """How many pages show `count` items."""
    if size < 1:
        raise ValueError("size must be at least 1")
    return count // size
'''
WEEKS_MENDED = WEEKS_TEXT.replace("full = len(items) // size", "full = -(-len(items) // size)").replace(
    "return count // size", "return -(-count // size)"
)
PYTHON_FILES = {
    "repo/roster/__init__.py": "from roster.names import initials\nfrom roster.weeks import chunks, pages\n\n"
    '__all__ = ["chunks", "initials", "pages"]\n',
    f"repo/{WEEKS}": WEEKS_TEXT,
    "repo/roster/names.py": '"""Names of people."""\n\n\ndef initials(name):\n'
    '    return "".join(word[0].upper() for word in name.split())\n',
    "repo/roster/__main__.py": "import sys\n\nfrom roster.weeks import pages\n\n"
    'if __name__ == "__main__":\n    print(pages(int(sys.argv[1]), int(sys.argv[2])))\n',
    "repo/tests/test_weeks.py": "import pytest\n\nfrom roster.weeks import chunks, pages\n\n\n"
    "def test_even_chunks():\n    assert chunks([1, 2, 3, 4], 2) == [[1, 2], [3, 4]]\n\n\n"
    "def test_a_rest_is_kept():\n    assert chunks([1, 2, 3], 2) == [[1, 2], [3]]\n\n\n"
    "def test_even_pages():\n    assert pages(9, 3) == 3\n\n\n"
    "def test_no_size():\n    with pytest.raises(ValueError):\n        chunks([1], 0)\n",
    "repo/tests/test_names.py": "from roster import initials\n\n\n"
    'def test_initials():\n    assert initials("ada lovelace") == "AL"\n',
    "repo/pyproject.toml": '[project]\nname = "roster"\nversion = "1.4.0"\nrequires-python = ">=3.9"\n\n'
    '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
    "repo/README.md": "# roster\n\nCuts lists of days into weeks and pages.\n",
    "repo/.gitignore": "__pycache__/\n*.log\n",
    "repo/ci/pipeline.yml": "steps: [test]\n",
    "repo/extras/conftest.py": "",
    "hidden/test_rest.py": f"# {SENTINEL}\nimport pytest\n\nfrom roster.weeks import chunks, pages\n\n\n"
    "def test_a_rest_is_a_chunk():\n    assert chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]\n\n\n"
    "def test_a_short_list():\n    assert chunks([7], 3) == [[7]]\n\n\n"
    "def test_a_last_page():\n    assert pages(10, 3) == 4\n\n\n"
    "def test_no_page():\n    assert pages(0, 3) == 0\n\n\n"
    "def test_a_page_of_nothing():\n    with pytest.raises(ValueError):\n        pages(3, 0)\n",
}
HIDDEN_PYTHON = "tests/test_rest.py"
FAIL_TO_PASS = ("test_a_rest_is_a_chunk", "test_a_short_list", "test_a_last_page")
PASS_TO_PASS = (
    *(f"{HIDDEN_PYTHON}::{name}" for name in ("test_no_page", "test_a_page_of_nothing")),
    *(f"tests/test_weeks.py::{name}" for name in ("test_even_chunks", "test_even_pages", "test_no_size")),
    "tests/test_names.py::test_initials",
)

SPAN = "lib/span.js"
SPAN_TEXT = """'use strict';

const SECONDS = { h: 3600, m: 60, s: 1 };

/** '1h30m' -> 5400 */
function seconds(text) {
  const found = /^(\\d+)([hms])/.exec(text);
  if (!found) throw new TypeError(`not a span: ${text}`);
  return Number(found[1]) * SECONDS[found[2]];
}

module.exports = { seconds };
"""
SPAN_MENDED = SPAN_TEXT.replace(
    """  const found = /^(\\d+)([hms])/.exec(text);
  if (!found) throw new TypeError(`not a span: ${text}`);
  return Number(found[1]) * SECONDS[found[2]];
""",
    """  if (!/^(\\d+[hms])+$/.test(text)) throw new TypeError(`not a span: ${text}`);
  return text.match(/\\d+[hms]/g).reduce((sum, part) => sum + parseInt(part, 10) * SECONDS[part.slice(-1)], 0);
""",
)
_NODE_HEAD = (
    "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { seconds } = require('../lib/span.js');\n\n"
)
NODE_FILES = {
    f"repo/{SPAN}": SPAN_TEXT,
    "repo/test/span.test.js": f"{_NODE_HEAD}"
    "test('two parts', () => { assert.strictEqual(seconds('2m5s'), 125); });\n"
    "test('hours', () => { assert.strictEqual(seconds('2h'), 7200); });\n"
    "test('nonsense', () => { assert.throws(() => seconds('soon'), TypeError); });\n",
    "repo/package.json": '{"name": "span", "version": "0.4.0", "private": true, "main": "lib/span.js",\n'
    ' "scripts": {"test": "node --test test/"}}\n',
    "repo/README.md": "# span\n\nReads spans of time.\n",
    "repo/ci/pipeline.yml": "steps: [test]\n",
    "hidden/sums.test.js": f"{_NODE_HEAD}// {SENTINEL}\n"
    "test('hours and minutes', () => { assert.strictEqual(seconds('1h30m'), 5400); });\n"
    "test('all three', () => { assert.strictEqual(seconds('1h1m1s'), 3661); });\n"
    "test('one part', () => { assert.strictEqual(seconds('45s'), 45); });\n",
}
HIDDEN_NODE = "test/sums.test.js"

ENVIRONMENT = {"memory_mb": {"guaranteed": 64, "limit": 768}, "disk_mb": 96, "processes": 96}
TOOLCHAINS = {"python": {"python": "3"}, "node": {"node": "20"}}
COMMON: dict[str, Any] = {
    "repository": {"tree": "repo"},
    "build": "none",
    "budget": {"wall_s": 90, "headroom": {"wall_s": 45}},
}
TIMEOUT_S = 30


@dataclass(frozen=True)
class Task:
    """A repository, its hidden tests, and how they are run: by the product, and by somebody naive."""

    files: Mapping[str, str]
    hidden: str  # where the hidden test goes
    source: str  # where it is in the contract
    bug: tuple[str, str, str]  # file, wrong text, right text
    naive: str  # the hidden tests
    naive_visible: str  # all tests that the agent could see

    @property
    def mend(self) -> str:
        """Shell that mends the bug, as an honest agent would."""
        path, _, right = self.bug
        return f"cat > {path} <<'END-OF-FILE'\n{right}END-OF-FILE\n"


PYTHON = Task(
    PYTHON_FILES,
    HIDDEN_PYTHON,
    "hidden/test_rest.py",
    (WEEKS, WEEKS_TEXT, WEEKS_MENDED),
    f"python -m pytest -q {HIDDEN_PYTHON}",
    "python -m pytest -q",
)
NODE = Task(
    NODE_FILES,
    HIDDEN_NODE,
    "hidden/sums.test.js",
    (SPAN, SPAN_TEXT, SPAN_MENDED),
    f"node --test {HIDDEN_NODE}",
    "npm test --silent",
)
TASKS = {"python": PYTHON, "node": NODE}


def write_contract(
    folder: Path, name: Literal["python", "node"], mode: Mode, where: Mapping[str, Any] | None = None
) -> Path:
    """A contract's folder, ready to load; `where` names an image to run it in."""
    task = TASKS[name]
    for path, text in task.files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    if name == "python":
        (folder / "repo/tools.tar").write_bytes(pytest_archive())
    (folder / "reference.patch").write_text(_reference(task))
    contract = {
        "id": f"{name}-{mode.replace('_', '-')}",
        **COMMON,
        "environment": {**(where or {"toolchains": TOOLCHAINS[name]}), **ENVIRONMENT},
        **(_PARTS[name](mode)),
    }
    (folder / "contract.yaml").write_text(yaml.safe_dump(contract, sort_keys=False))
    return folder


def _python(mode: Mode) -> dict[str, Any]:
    hidden = [{"src": "hidden/test_rest.py", "dest": HIDDEN_PYTHON}]
    # One type of grader for each mode, so that all three see the whole corpus.
    checks: dict[Mode, dict[str, Any]] = {
        "twin": {
            "type": "swebench",
            "cmd_prefix": ".venv/bin/python -m pytest -q -p no:cacheprovider",
            "fail_to_pass": [f"{HIDDEN_PYTHON}::{name}" for name in FAIL_TO_PASS],
            "pass_to_pass": list(PASS_TO_PASS),
        },
        "split": {"type": "pytest", "cmd": f".venv/bin/python -m pytest -q {HIDDEN_PYTHON}"},
        "in_process": {"type": "tests", "cmd": f".venv/bin/python -m pytest -q {HIDDEN_PYTHON}"},
    }
    return {
        "brief": "chunks() drops a rest, and pages() forgets the last page. Mend both.",
        "setup": [
            "python3 -m venv --without-pip .venv",
            "tar -xf tools.tar -C .venv/lib/python3*/site-packages",
            "python3 -m compileall -q .venv/lib",  # once: checks cannot keep what they compile
        ],
        "oracle": {
            "checks": [{"id": "hidden", **checks[mode], "inject": hidden, "timeout_s": TIMEOUT_S}],
            "mode": mode,
            "reference": "reference.patch",
        },
        "runner_files": ["extras/conftest.py"],
        "graders": [
            {"type": "tests_unmodified", "paths": ["tests/test_names.py"]},
            {"type": "baseline_unmodified", "paths": ["ci/pipeline.yml"]},
            {"type": "forbid_paths", "patterns": [".github/*"]},
            {"type": "no_new_skips"},
            {"type": "assertions_not_weakened"},
        ],
    }


def _node(mode: Mode) -> dict[str, Any]:
    check = {
        "id": "hidden",
        "type": "tests",
        "cmd": "node --test test/",
        "inject": [{"src": "hidden/sums.test.js", "dest": HIDDEN_NODE}],
        "timeout_s": TIMEOUT_S,
    }
    return {
        "brief": "seconds() reads only the first part of a span. Mend it.",
        "oracle": {"checks": [check], "mode": mode, "reference": "reference.patch"},
        "graders": [{"type": "baseline_unmodified", "paths": ["ci/pipeline.yml"]}, {"type": "no_new_skips"}],
    }


_PARTS = {"python": _python, "node": _node}


def pytest_archive() -> bytes:
    """Pytest and what it needs, as installed here: setup unpacks it without a network.

    It is compiled by the Python that sandboxes have. Every file is from the same second, so that `compileall` in a setup
    finds nothing to do where the interpreter is of the same version.
    """
    archive: bytes = made_once("pytest.tar", _make_archive)
    return archive


def _make_archive() -> bytes:
    out = io.BytesIO()
    with tempfile.TemporaryDirectory() as made, tarfile.open(fileobj=out, mode="w") as archive:
        packages = Path(made)
        for name in PYTEST:
            for file in metadata.files(name) or ():
                if ".." not in file.parts and file.suffix != ".pyc":
                    (packages / file).parent.mkdir(parents=True, exist_ok=True)
                    (packages / file).write_bytes(Path(str(file.locate())).read_bytes())
                    os.utime(packages / file, (0, 0))
        subprocess.run([SYSTEM_PYTHON, "-I", "-m", "compileall", "-q", "-s", made, made], check=False)
        for path in sorted(one for one in packages.rglob("*") if one.is_file()):
            info = archive.gettarinfo(str(path), str(path.relative_to(packages)))
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
            archive.addfile(info, io.BytesIO(path.read_bytes()))
    return out.getvalue()


def _reference(task: Task) -> str:
    path, wrong, right = task.bug
    comment = "#" if path.endswith(".py") else "//"
    solved = f"{right}\n{comment} {SOLUTION}\n"
    lines = difflib.unified_diff(wrong.splitlines(True), solved.splitlines(True), f"a/{path}", f"b/{path}")
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)
