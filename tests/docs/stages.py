"""What a reader of each page has before its first command: files, a repository, an earlier run.

`STAGES` names the function that lays these files out for a page, and the words of the page that stand for something of the
reader's own. `NOT_RUN` names the commands that no test can run, each with its reason.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import yaml

from command_line import run_command
from offline_pytest import pytest_archive

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
DISCOUNT = ROOT / "examples/python-discount"

NOT_RUN = {
    r"(make|pip|git clone) ": "it installs, or it is what runs these tests",
    r"steelyard import (flask|axios)\.jsonl": "it needs a clone of a public project",
    r"steelyard run flask ": "it needs a clone of a public project",
    r"steelyard run tasks/hello .*--network ": "it needs hosts of the internet",
    r"steelyard run .* --agent-host api\.example\.com:443": "it needs a host of the internet",
    r"export ANTHROPIC_API_KEY": "it needs a key",
    r"steelyard agents (install|list) ": "it needs the package registries; `make agents` installs them",
    r"steelyard run .*(claude_code|codex|acp):": "it needs an agent and a key; `make agents` runs them with a scripted model",
    r"steelyard run .*--agent-provider": "it needs a key; tests/gateway has a scripted model",
    r"steelyard judge calibrate \.steelyard/runs": "it needs runs that a model and people judged; tests/judge has them",
    r"steelyard operate \w": "it needs a paused run; tests/cli/running/test_operate.py has one",
    r"steelyard (serve|view)\b": "it serves until it is stopped; tests/service and tests/web do that",
    r".*(--engine ray|postgresql://)": "it needs a cluster or a database; tests/study and tests/store have them",
}


class Block(NamedTuple):
    page: Path
    language: str
    text: str


def blocks(*languages: str, page: Path | None = None) -> Iterator[Block]:
    for path in PAGES if page is None else [page]:
        for info, text in re.findall(r"^```([^\n]*)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
            if info in languages:
                yield Block(path, info, text)


def commands(page: Path) -> list[str]:
    """The commands of a page, in order."""
    lines = [line for block in blocks("console", page=page) for line in block.text.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def reason_not_to_run(command: str) -> str | None:
    return next((reason for pattern, reason in NOT_RUN.items() if re.match(pattern, command)), None)


@dataclass(frozen=True)
class Stage:
    prepare: Callable[[Path], None] = lambda _folder: None
    words: Mapping[str, str] = field(default_factory=dict)  # of the page -> of the test
    needs_run: bool = False  # an earlier run of the reader's


def steelyard(folder: Path, *arguments: str) -> None:
    """A command that the reader ran before."""
    run_command(*arguments, cwd=folder)


def git_repository(folder: Path) -> str:
    """Commit what is in a folder; the commit's id."""
    git = ["git", "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "one"], check=True)
    return subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    ).stdout.strip()


def _contract_of(page: str, folder: Path, name: str, number: int = 0) -> Path:
    """The contract that a page shows, in a folder of its own."""
    contract = folder / name
    contract.mkdir()
    shown = list(blocks("yaml contract", page=ROOT / page))
    (contract / "contract.yaml").write_text(shown[number].text)
    return contract


def _tutorial(folder: Path) -> None:
    contract = _contract_of("docs/tutorial/first-contract.md", folder, "my-contract")
    shutil.copytree(DISCOUNT / "repo", contract / "repo")
    shutil.copy(DISCOUNT / "reference.patch", contract)
    (contract / "hidden").mkdir()
    (test,) = blocks("python", page=ROOT / "docs/tutorial/first-contract.md")
    (contract / "hidden/test_hidden.py").write_text(test.text)
    (folder / "cheat.sh").write_text("true\n")


def _judge(folder: Path) -> None:
    _tutorial(folder)
    (folder / "labels.jsonl").write_text('{"human": "PASS", "judge": "FAIL"}\n')


def with_pytest(folder: Path) -> Path:
    """The tutorial's contract, changed as it says for pytest."""
    _tutorial(folder)
    contract = folder / "my-contract"
    _put_pytest(contract / "repo")
    (shown,) = blocks("yaml replaces", page=ROOT / "docs/tutorial/first-contract.md")
    text = shown.text
    for word, value in UNPACK.items():
        text = text.replace(word, value)
    written = yaml.safe_load((contract / "contract.yaml").read_text())
    changed = yaml.safe_load(text.replace("setup_network: host", "setup_network: none"))
    oracle = {**written["oracle"], **changed["oracle"]}
    (contract / "contract.yaml").write_text(
        yaml.safe_dump({**written, **changed, "build": "none", "oracle": oracle})
    )
    return contract


def _turns(folder: Path) -> None:
    contract = _contract_of("docs/how-to/turns-and-steps.md", folder, "widgets-talk")
    shutil.copytree(DISCOUNT / "repo", contract / "repo")
    (contract / "hidden").mkdir()
    shutil.copy(DISCOUNT / "hidden/test_discount.py", contract / "hidden/test_coupons.py")


def _patch(folder: Path) -> None:
    shutil.copy(DISCOUNT / "reference.patch", folder / "fix.diff")
    shutil.copytree(DISCOUNT / "repo", folder / "my-checkout")


def _verifier(folder: Path) -> None:
    contract = _contract_of("docs/verifiers.md", folder, "voltage-drop")
    for name in ("repo", "tests", "fixtures/pass", "fixtures/fail"):
        (contract / name).mkdir(parents=True)
    (contract / "repo/README.md").write_text("A cable.\n")
    (contract / "reference.patch").write_text(
        '--- /dev/null\n+++ b/answer.json\n@@ -0,0 +1 @@\n+{"voltage_drop_v": 3.1}\n'
    )
    text = (contract / "contract.yaml").read_text()
    (contract / "contract.yaml").write_text(
        text.replace("oracle:\n", "oracle:\n  reference: reference.patch\n")
    )
    (contract / "tests/test.sh").write_text(
        "if grep -q 3.1 /workspace/answer.json; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    )
    (contract / "fixtures/pass/exact.json").write_text('{"voltage_drop_v": 3.1}\n')
    (contract / "fixtures/fail/wrong.json").write_text('{"voltage_drop_v": 31}\n')


def _put_pytest(repository: Path) -> None:
    """Pytest as an archive in the repository: no test of ours needs a network. UNPACK is its setup."""
    (repository / "tools").mkdir()
    pytest_archive(repository / "tools")
    (repository / "tools/unpack.py").write_text(
        "import site, zipfile\nzipfile.ZipFile('tools/pytest.zip').extractall(site.getusersitepackages())\n"
    )


UNPACK = {
    "python3 -m venv .venv": "python3 tools/unpack.py",
    ".venv/bin/pip install pytest": "true",
    ".venv/bin/python": "python3",
}


def _tasks(folder: Path) -> None:
    shutil.copytree(ROOT / "tests/harbor_tasks/hello-file", folder / "tasks/hello")
    (folder / "mine.sh").write_text("true\n")
    cart = folder / "clones/cart"
    shutil.copytree(DISCOUNT / "repo", cart)
    _put_pytest(cart)
    commit = git_repository(cart)
    shutil.copy(DISCOUNT / "reference.patch", folder / "fix.patch")
    (folder / "brief.md").write_text("Mend the totals.\n")
    (folder / "scorers.yaml").write_text(
        "- {name: scope, type: forbid_paths, patterns: [ci/**]}\n- {name: tests, type: command, command: sh ci/test.sh}\n"
    )
    fix = (folder / "fix.patch").read_text()
    test = "tests/test_pricing.py::Pricing::test_a_discount_larger_than_the_price_makes_it_free"
    row = {
        "repo": "ann/cart",
        "instance_id": "ann__cart-1",
        "base_commit": commit,
        "patch": fix,
        "test_patch": "--- /dev/null\n+++ b/conftest.py\n@@ -0,0 +1 @@\n+import sys; sys.path.insert(0, 'src')\n",
        "problem_statement": "Totals are wrong.",
        "version": "1",
        "FAIL_TO_PASS": [test],
        "PASS_TO_PASS": [],
    }
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    prediction = {"instance_id": "ann__cart-1", "model_patch": fix, "model_name_or_path": "my-agent"}
    (folder / "predictions.jsonl").write_text(json.dumps(prediction) + "\n")


def _repository(folder: Path) -> None:
    shutil.copytree(DISCOUNT / "repo", folder / "my-repository")
    git_repository(folder / "my-repository")


def _suite(folder: Path) -> None:
    for name in ("widgets-1411", "widgets-1412"):
        contract = folder / "suite" / name
        shutil.copytree(DISCOUNT, contract)
        text = (contract / "contract.yaml").read_text()
        (contract / "contract.yaml").write_text(text.replace("id: python-discount", f"id: {name}"))


_AGENT = {"command:my-agent": "command:echo"}  # a program that the sandbox has

STAGES: dict[str, Stage] = {
    "README.md": Stage(
        _repository,
        {
            "../my-repository": "my-repository",
            "compare A B": "compare noop reference",
            **_AGENT,
            "TASKDIR": str(ROOT / "tests/harbor_tasks/hello-file"),
            "RUN": "last",
        },
    ),
    "docs/containers.md": Stage(),
    "docs/how-to/ask-a-question.md": Stage(words=_AGENT),
    "docs/agents.md": Stage(),
    "docs/judge.md": Stage(_judge, _AGENT),
    "docs/how-to/evaluate-claude-code.md": Stage(needs_run=True),
    "docs/how-to/certify-a-contract.md": Stage(words=_AGENT),
    "docs/how-to/operate.md": Stage(),
    "docs/reading-results.md": Stage(words={"STUDY": ".steelyard/runs"}, needs_run=True),
    "docs/studies.md": Stage(_suite, {**_AGENT, "command:other-agent": "command:true"}),
    "docs/how-to/grade-a-patch.md": Stage(
        _patch, {"RUN": "last", "../my-checkout": "my-checkout"}, needs_run=True
    ),
    "docs/how-to/turns-and-steps.md": Stage(_turns, _AGENT),
    "docs/how-to/verify-evidence.md": Stage(words={"RUN": "last"}, needs_run=True),
    "docs/importing.md": Stage(_tasks, UNPACK),
    "docs/tutorial/first-contract.md": Stage(_tutorial, {**_AGENT, "RUN": "last"}),
    "docs/verdict.md": Stage(words={"RUN": "last"}, needs_run=True),
    "docs/verifiers.md": Stage(_verifier),
}
