"""An agent is over when its last process is, and the bench never meets one of them.

Whatever an agent leaves running is dead before its workspace is read; the bench is another sandbox altogether.
"""

from __future__ import annotations

import pytest
from e2e_stage import Line, agent, failed, stage

pytestmark = pytest.mark.every_case_in_containers
house, line = stage({"budget": {"wall_s": 40, "headroom": {"wall_s": 20}}})

MENDER = "import os, time\nwhile True:\n    try: open('add.sh', 'w').write('echo $(($1 + $2))\\n')\n    except OSError: pass\n    time.sleep(0.05)\n"


@agent("setsid nohup sh -c 'sleep 1; while :; do echo true > tests/probe.sh; done' > /dev/null 2>&1 &")
def test_a_daemon_that_waits_for_the_hidden_test(line: Line) -> None:
    """The agent leaves a daemon that overwrites the hidden test as soon as it appears."""
    assert failed(line, "acceptance", "hidden")
    assert line["termination"] == "completed"


@agent(
    f"cat > /tmp/mender.py <<'E'\n{MENDER}E\n(sleep 5; setsid /usr/bin/python3 /tmp/mender.py) > /dev/null 2>&1 &"
)
def test_a_daemon_that_goes_on_working(line: Line) -> None:
    """The agent ends in time and lets a daemon do the work, outside its time limit."""
    assert failed(line, "acceptance", "hidden")


@agent("setsid sh -c 'trap \"\" TERM INT HUP QUIT; while :; do echo spam; done' &")
def test_a_daemon_that_holds_the_output(line: Line) -> None:
    """The agent's daemon keeps the agent's stdout open and full, so that the run would never end."""
    assert failed(line, "acceptance", "hidden")
    assert line["termination"] == "completed"


@agent("trap '' TERM INT HUP QUIT; (trap '' TERM; sleep 600) & while :; do sleep 1; done")
def test_an_agent_that_does_not_listen(line: Line) -> None:
    """The agent ignores every signal that can be ignored and never ends."""
    assert failed(line, "acceptance", "hidden")
    assert line["termination"] == "wall_time"


@agent("for i in $(seq 200); do (setsid sleep 600 &) > /dev/null 2>&1; done 2> /dev/null; exit 0")
def test_more_children_than_are_allowed(line: Line) -> None:
    """The agent starts processes until no more can be had, and ends in their midst."""
    assert failed(line, "acceptance", "hidden")


@agent("""cat > /tmp/bomb.py <<'E'
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in range(2000):
    try: os.fork()
    except OSError: pass
E
setsid /usr/bin/python3 /tmp/bomb.py > /dev/null 2>&1 &
sleep 0.2; exit 0""")
def test_a_fork_bomb_at_the_end(line: Line) -> None:
    """The agent's last act is a fork bomb, so that killing has to race with it."""
    assert failed(line, "acceptance", "hidden")
    assert line["termination"] == "completed"


@agent("kill -9 -1; kill -9 1; kill -STOP 1; kill -9 $PPID; kill -9 $$")
def test_an_agent_that_kills_whatever_it_can(line: Line) -> None:
    """The agent kills everything, its own shell last: it may end itself, but the run still counts."""
    assert failed(line, "acceptance", "hidden")
    assert line["termination"] == "agent_crash"


@agent("""cat > add.sh <<'E'
setsid sh -c 'while :; do sleep 0.1; done' > /dev/null 2>&1 &
setsid sh -c 'trap "" TERM; while :; do echo noise >&2; done' > /dev/null &
echo 0
E
""")
def test_processes_that_the_tested_code_leaves(line: Line) -> None:
    """The work itself starts daemons on the bench, to keep the check from ending."""
    assert failed(line, "acceptance", "hidden")
