"""Root is not needed: the same tests, run by a user who is nobody."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = "65534"
# What init does with a command is the same for every user; these look at who the user is and what is left.
COMMANDS = [
    f"tests/sandboxes/init/test_init_commands.py::{name}"
    for name in (
        "test_the_environment_is_fixed_plus_what_was_asked",
        "test_a_program_finds_its_user_its_host_and_localhost",
        "test_a_daemon_stays_for_the_next_command",
        "test_cpu_time_is_counted",
        "test_many_threads_run_commands_in_one_sandbox",
    )
]
ORPHANS = [
    f"tests/sandboxes/bubblewrap/test_orphans.py::{name}"
    for name in (
        "test_the_launcher_ends_what_a_killed_bubblewrap_leaves",
        "test_a_killed_controllers_launcher_ends_however_many_children_it_inherits",
        "test_doctor_clean_ends_the_bubblewrap_of_a_dead_owner",
    )
]
PAGES = "tests/docs/test_commands_as_written.py"
# It has the demo, so it is apart from the other pages.
README = f"{PAGES}::test_the_commands_of_a_page_work_as_written[README.md]"
OWN_AGENT = "tests/docs/test_docs.py::test_the_page_about_ones_own_agent_works_as_written"
# Root can write everywhere, so this one has nothing to say to root.
UNWRITABLE = "tests/cli/console/test_bad_input.py::test_an_out_folder_that_the_user_cannot_write_is_refused_before_anything_runs"
PYTHON = "/usr/bin/python3"  # ours may sit in a home that nobody else may enter


def as_nobody(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    dropped = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--", *command]
    environment = {"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return subprocess.run(dropped, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def libraries() -> str:
    return os.pathsep.join([sysconfig.get_path("purelib"), str(ROOT / "src")])


def can_run_as_nobody() -> bool:
    """The system's Python must be of our version, and our files within nobody's reach."""
    if os.geteuid() != 0 or not Path(PYTHON).exists() or shutil.which("setpriv") is None:
        return False
    code = f"import sys, pytest, yaml, steelyard; sys.exit(sys.version_info[:2] != {sys.version_info[:2]})"
    return as_nobody(PYTHON, "-c", code, PYTHONPATH=libraries()).returncode == 0


@pytest.mark.ordinary_user
@pytest.mark.parametrize(
    "files",
    [
        [*COMMANDS, "tests/sandboxes/init/test_init_timeouts.py"],
        [
            "tests/sandboxes/test_sandboxed_workspace.py",
            "tests/sandboxes/test_write_switch.py",
            "tests/sandboxes/bubblewrap/test_launcher_lifetime.py",
        ],
        ["tests/sandboxes/test_local_sandbox.py", *ORPHANS],
        [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("tests/attacks/test_sandbox_*.py"))],
        [README, UNWRITABLE],
        [PAGES, f"--deselect={README}", OWN_AGENT],
    ],
    ids=["commands", "workspace_and_lifetime", "local_and_orphans", "attacks", "readme", "documentation"],
)
def test_root_is_not_needed(tmp_path_factory: pytest.TempPathFactory, files: list[str]) -> None:
    """What a user without any privilege gets is the same isolation, with other limits."""
    if not can_run_as_nobody():
        pytest.skip("not root, or nobody cannot reach a Python like this one")
    folder = Path(f"/tmp/steelyard-nobody-{os.getpid()}-{tmp_path_factory.mktemp('n').name}")
    folder.mkdir()
    os.chown(folder, int(NOBODY), int(NOBODY))
    try:
        done = as_nobody(
            PYTHON, "-m", "pytest", "-q", "-p", "no:xdist", f"--basetemp={folder}/pytest", *files,
            PYTHONPATH=libraries(), HOME=str(folder),
        )  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
