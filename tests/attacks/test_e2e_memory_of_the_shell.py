"""The tested program writes code into the shell that waits for the check, and ends the check: the shell then exits with 0.

In a sandbox /proc is read-only, so no process writes to the memory of another one (test_sandbox_memory). ask.py also keeps its memory
from being read, and the bundled contracts start it with `exec`, so that no shell remains: that holds in every sandbox.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
CONTRACTS = [path.parent for path in sorted(EXAMPLES.glob("*/hidden/ask.py"))]
ASKED = "exec python3 -I -B tests/hidden/ask.py"

# mov eax, 231 (exit_group); xor edi, edi; syscall
PROGRAM = """
import os
import signal
import time


def parent(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


asker = os.getppid()
waiting = parent(asker)
with open(f"/proc/{waiting}/syscall") as file:
    at = int(file.read().split()[-1], 16)
with open(f"/proc/{waiting}/mem", "r+b", buffering=0) as memory:
    memory.seek(at)
    memory.write(bytes.fromhex("b8e700000031ff0f05"))
os.kill(asker, signal.SIGKILL)
time.sleep(5)
"""


@pytest.mark.parametrize(
    "command", [ASKED, f'"{ASKED.removeprefix("exec ")}; exit $?"'], ids=["exec", "a_shell_waits"]
)
def test_a_program_that_rewrites_the_waiting_shell_does_not_choose_the_exit_code(
    tmp_path: Path, steelyard: Callable[..., Any], command: str
) -> None:
    contract = shutil.copytree(EXAMPLES / "python-upgrade", tmp_path / "contract")
    text = (contract / "contract.yaml").read_text()
    (contract / "contract.yaml").write_text(text.replace(ASKED, command))
    tree = shutil.copytree(contract / "repo", tmp_path / "tree")
    patch = ["git", "apply", "--unsafe-paths", f"--directory={tree}", str(contract / "reference.patch")]
    subprocess.run(patch, cwd="/", check=True)
    (tree / "src/contents/__main__.py").write_text(PROGRAM)
    line = steelyard("grade", contract, "--tree", tree, "--no-judge", "--json").line
    assert line["verdict"] == "fail"
    assert [one["id"] for one in line["failure_modes"]] == ["acceptance_failure"]
    assert line["failure_modes"][0]["evidence"] == ["checks/hidden/"]


@pytest.mark.parametrize("contract", [folder.parent for folder in CONTRACTS], ids=lambda path: path.name)
def test_no_shell_waits_for_a_bundled_check_that_protects_its_memory(contract: Path) -> None:
    text = (contract / "contract.yaml").read_text()
    assert text.count("tests/hidden/ask.py") == text.count(f"cmd: {ASKED}") == 1
