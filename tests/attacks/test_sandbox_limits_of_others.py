"""All processes of a sandbox have the same user, so one could take away what another needs: descriptors, or its time.

Init without descriptors does not answer, and the run would be invalid. A verifier without them leaves the reward that the tested
code wrote.
"""

from __future__ import annotations

import pytest
from sandbox_stage import Stage, each_sandbox, result  # noqa: F401


@pytest.mark.parametrize("process", ["1", "os.getppid()"])
def test_taking_descriptors_from_another_process(process: str) -> None:
    call = f"resource.prlimit({process}, resource.RLIMIT_NOFILE, (3, 3))"
    with Stage() as stage:
        assert "Operation not permitted" in result(
            stage.sh(f"python3 -c 'import os, resource; {call}'; echo > /tmp/x")
        )
        assert stage.sh("echo still here").stdout.text == "still here\n"


def test_a_process_limits_itself() -> None:
    call = "resource.prlimit(0, resource.RLIMIT_NOFILE, (30, 30)); print(resource.prlimit(1, resource.RLIMIT_NOFILE)[0] > 30)"
    with Stage() as stage:
        assert stage.sh(f"python3 -c 'import resource; {call}'").stdout.text == "True\n"


@pytest.mark.parametrize(
    "call",
    ["os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))", "os.setpriority(os.PRIO_USER, 0, 19)"],
)
def test_taking_time_from_init(call: str) -> None:
    with Stage() as stage:
        assert "Operation not permitted" in result(stage.sh(f"python3 -c 'import os; {call}'"))
