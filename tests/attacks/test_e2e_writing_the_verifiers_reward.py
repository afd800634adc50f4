"""Code that a verifier starts writes the reward itself, and keeps the verifier from writing its own. The verifier ends with exit code 0 all the same.

Init knows which processes are the verifier's and which belong to the tested code, and sees each open of a reward. On the unchanged snapshot the
verifier writes the reward itself, so a reward that only the tested code wrote does not count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from containers import in_docker

from authoring import Author, Steelyard
from steelyard.sandboxes.init.watch_calls import why_not_watched

pytestmark = pytest.mark.skipif(
    bool(why_not_watched()), reason="this machine gives no listener for system calls"
)
SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 24, "processes": 64}
FORGE = "echo '{\"reward\": 1.0}' > /logs/verifier/reward.json"
REWARD = "/logs/verifier/reward.json"
RIGHT = '[ "$(sh add.sh 2 3)" = 5 ] && reward=1.0 || reward=0.0\n'
WRITES = f'echo "{{\\"reward\\": $reward}}" > {REWARD}\n'
BY_PYTHON = (
    "import json, subprocess\n"
    "done = subprocess.run(['sh', 'add.sh', '2', '3'], capture_output=True, text=True)\n"
    f"json.dump({{'reward': float(done.stdout.strip() == '5')}}, open('{REWARD}', 'w'))\n"
)
# Asks again with what the work answered.
ASKS_TWICE = (
    "import json, subprocess\n"
    "def ask(*given): return subprocess.run(['sh', 'add.sh', *given], capture_output=True, text=True).stdout.strip()\n"
    "answer = ask('2', '3')\nask(answer)\n"
    f"json.dump({{'reward': float(answer == '5')}}, open('{REWARD}', 'w'))\n"
)
BY_PIPE = (
    "import json, os, subprocess\nopen('/tmp/pid', 'w').write(str(os.getpid()))\n"
    "done = subprocess.run('cat add.sh | sh -s 2 3', shell=True, capture_output=True, text=True)\n"
    f"json.dump({{'reward': float(done.stdout.strip() == '5')}}, open('{REWARD}', 'w'))\n"
)
READS_LATER = f"import json\njson.dump({{'reward': float(open('/tmp/out').read().strip() == '5')}}, open('{REWARD}', 'w'))\n"
PRINTS = (
    "import subprocess\n"
    "done = subprocess.run(['sh', 'add.sh', '2', '3'], capture_output=True, text=True)\n"
    "print('{\"reward\": %.1f}' % float(done.stdout.strip() == '5'))\n"
)
PROGRAMS = {
    "prints.py": PRINTS,
    "check.py": BY_PYTHON,
    "twice.py": ASKS_TWICE,
    "pipe.py": BY_PIPE,
    "later.py": READS_LATER,
}
IMPORTS = (
    "import json, sys\nsys.path.insert(0, '/workspace')\nimport work\n"
    f"json.dump({{'reward': float(work.add(2, 3) == 5)}}, open('{REWARD}', 'w'))\n"
)


# The sandbox's kind changes only how files of the work are recognised.
IN_CONTAINERS = {"helper-that-crashes", "background-process", "exit-code-of-tests", "copied-program"}


def each_where(cases: Mapping[str, tuple[str, str]]) -> pytest.MarkDecorator:
    every = os.environ.get("CONTAINERS") == "all"
    rows = [pytest.param("bubblewrap", *row, id=name) for name, row in cases.items()]
    rows += [
        pytest.param("docker", *row, id=f"{name}-docker")
        for name, row in cases.items()
        if every or name in IN_CONTAINERS
    ]
    return pytest.mark.parametrize(("where", "verifier", "code"), rows, indirect=["where"])


@pytest.fixture
def where(request: pytest.FixtureRequest) -> dict[str, Any]:
    return in_docker() if request.param == "docker" else {}


@pytest.fixture
def rewarded(
    author: Author, steelyard: Steelyard, script: Callable[[str], str], where: dict[str, Any]
) -> Callable[..., Any]:
    def run(agent: str, verifier: str, files: Mapping[str, str] | None = None) -> Any:
        check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}
        written = {
            "tests/test.sh": verifier,
            **{f"tests/{name}": text for name, text in (files or {}).items()},
        }
        folder = author.write(
            written, reward="verifier", oracle={"checks": [check]}, environment={**SMALL, **where}
        )
        return steelyard("run", folder, "--agent", script(agent), "--json").line

    return run


def work(code: str) -> str:
    return f"cat > add.sh <<'EOF'\n{code}\nEOF\n"


FORGERIES = {
    "helper-that-crashes": (
        "python3 /tests/check.py; true\n",
        work(f"{FORGE}; printf '\\377'"),
    ),
    "helper-that-is-killed": ("python3 /tests/check.py; true\n", work(f"{FORGE}; kill -9 $PPID")),
    "temporary-file-that-cannot-be-written": (
        f'{RIGHT}echo "{{\\"reward\\": $reward}}" > /logs/verifier/new && mv /logs/verifier/new {REWARD}\nexit 0\n',
        work(f"{FORGE}; mkdir /logs/verifier/new; echo 0"),
    ),
    "temporary-file-that-was-there-before": (
        f'{RIGHT}echo "{{\\"reward\\": $reward}}" > /tmp/new; mv /tmp/new {REWARD}\nexit 0\n',
        work("echo '{\"reward\": 1.0}' > /tmp/new; chmod 444 /tmp/new; echo 0"),
    ),
    "folder-that-was-moved-away": (
        (
            'cd /logs/verifier\n[ "$(sh /workspace/add.sh 2 3)" = 5 ] && reward=1.0 || reward=0.0\n'
            'echo "{\\"reward\\": $reward}" > reward.json\n'
        ),
        work(f"mv /logs/verifier /logs/other; mkdir /logs/verifier; {FORGE}; echo 0"),
    ),
    "process-substitution": (
        f"printf '5\\n' > /tmp/expected\ncmp -s <(sh add.sh 2 3) /tmp/expected && reward=1.0 || reward=0.0\n{WRITES}sleep 1\n",
        work(f"echo 0; exec >&-; while ! [ -s {REWARD} ]; do sleep 0.01; done; {FORGE}"),
    ),
    "background-process": (
        f"sh add.sh 2 3 > /tmp/out &\nsleep 1\ngrep -q 5 /tmp/out && reward=1.0 || reward=0.0\n{WRITES}sleep 1\n",
        work(f"echo 0; while ! [ -s {REWARD} ]; do sleep 0.01; done; {FORGE}"),
    ),
    "descriptor-that-was-opened-before": (
        f"sh add.sh 2 3 > /tmp/out &\nsleep 1\ngrep -q 5 /tmp/out && reward=1.0 || reward=0.0\n{WRITES}sleep 1\n",
        work(
            f"exec 3<> {REWARD}; echo 0; while ! [ -s {REWARD} ]; do sleep 0.01; done; echo '{{\"reward\": 1.0}}' >&3"
        ),
    ),
    "default-that-is-written-first": (
        f"reward=0.0\n{WRITES}{RIGHT}[ $reward = 0.0 ] || {WRITES}exit 0\n",
        work(f"{FORGE}; echo 0"),
    ),
    "default-by-another-name-of-the-file": (
        f"reward=0.0\n{WRITES}{RIGHT}[ $reward = 0.0 ] || {WRITES}exit 0\n",
        work(
            f"ln {REWARD} /logs/verifier/x; echo '{{\"reward\": 1.0}}' > /logs/verifier/x; rm /logs/verifier/x; echo 0"
        ),
    ),
    # No file is left for a document of the shell, or for a process.
    "no-room-for-the-helper": (
        "sh add.sh > /tmp/out; python3 /tests/later.py; true\n",
        work(f"{FORGE}; i=0; while [ $i -lt 100 ]; do sleep 600 & i=$((i+1)); done >/dev/null 2>&1; echo 0"),
    ),
    "answer-that-names-the-reward": (
        "python3 /tests/twice.py; true\n",
        work(f'[ "$1" = 2 ] && echo {REWARD} || {{ {FORGE}; kill -9 $PPID; }}'),
    ),
    "answer-that-names-a-program-of-the-verifier": (
        "python3 /tests/twice.py; true\n",
        work(f'[ "$1" = 2 ] && echo /tests/check.py || {{ {FORGE}; kill -9 $PPID; }}'),
    ),
    "shell-that-reads-the-work-from-a-pipe": (
        "python3 /tests/pipe.py; true\n",
        work(f"{FORGE}; kill -9 $(cat /tmp/pid)"),
    ),
    "another-name-of-a-file-that-is-open": (
        f"python3 /tests/prints.py > {REWARD}; true\n",
        work(
            f"ln {REWARD} /logs/verifier/x; echo '{{\"reward\": 1.0}}' > /logs/verifier/x; rm /logs/verifier/x; kill -9 $PPID"
        ),
    ),
    "module-that-is-left-beside-the-next-program": (
        f"sh add.sh > /tmp/out.txt; python3 -c \"import json; json.dump({{'reward': 0.0}}, open('{REWARD}', 'w'))\"; true\n",
        work(
            f"cat > json.py <<'END'\nopen('{REWARD}', 'w').write('{{\"reward\": 1.0}}'); import os; os._exit(0)\nEND\necho 0"
        ),
    ),
    # What Python loads before each program.
    "module-that-is-left-for-the-next-program": (
        "sh add.sh > /tmp/out; python3 /tests/later.py; true\n",
        work(
            "place=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $place\n"
            "echo \"open('/tmp/out', 'w').write('5')\" > $place/usercustomize.py; echo 0"
        ),
    ),
    # The verifier writes the reward itself, and believes the exit code of its program.
    "exit-code-by-what-python-starts-with": (
        f'sh add.sh > /tmp/out; python3 -c \'import sys; sys.exit(open("/tmp/out").read() != "5\\n")\' && reward=1.0 || reward=0.0\n{WRITES}',
        work(
            "place=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $place\n"
            "echo 'import os; os._exit(0)' > $place/usercustomize.py; echo 0"
        ),
    ),
    "another-name-of-the-temporary-file": (
        f'{RIGHT}echo "{{\\"reward\\": $reward}}" > {REWARD}.new; sleep 0.5; mv {REWARD}.new {REWARD}\nexit 0\n',
        work(
            f"(while ! ln {REWARD}.new /logs/verifier/x; do :; done; echo '{{\"reward\": 1.0}}' > /logs/verifier/x) "
            ">/dev/null 2>&1 & echo 0"
        ),
    ),
    "program-of-the-verifier-started-by-the-work": (
        "python3 /tests/check.py; true\n",
        work(
            "mkdir bin; printf 'echo 5' > bin/sh; chmod +x bin/sh; PATH=$PWD/bin:$PATH python3 /tests/check.py; kill -9 $PPID"
        ),
    ),
}


@each_where(FORGERIES)
def test_a_reward_that_the_tested_code_wrote_does_not_count(
    verifier: str, code: str, rewarded: Callable[..., Any]
) -> None:
    line = rewarded(code, verifier, PROGRAMS)
    assert (line["acceptance"], line["verdict"], line["reward"]) == ("failure", "fail", 0.0)


HONEST = {
    # As most Harbor tasks do it.
    "exit-code-of-tests": (
        (
            "python3 /tests/check.py -v > /dev/null\n"
            "if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi\n"
        ),
        "import subprocess, sys\nsys.exit(subprocess.run(['sh', 'add.sh', '2', '3'], capture_output=True, text=True).stdout != '5\\n')\n",
    ),
    "python-that-runs-the-work": ("python3 /tests/check.py\n", BY_PYTHON),
    "python-that-imports-the-work": (
        "[ -e work.py ] || { echo 0 > /logs/verifier/reward.txt; exit; }\npython3 /tests/check.py\n",
        IMPORTS,
    ),
    "python-from-a-document-that-imports-the-work": (
        f"[ -e work.py ] || exit 0\npython3 - <<'END'\n{IMPORTS}END\n",
        "",
    ),
    "document-that-reads-a-report": (
        (
            "python3 /tests/check.py > /logs/verifier/report.json\npython3 - <<'END'\nimport json\n"
            "right = json.load(open('/logs/verifier/report.json'))['right']\njson.dump({'reward': right}, open('/logs/verifier/' + 'reward' + '.json', 'w'))\nEND\n"
        ),
        (
            "import json, sys\nsys.path.insert(0, '/workspace')\n"
            "try:\n    import work\n    print(json.dumps({'right': float(work.add(2, 3) == 5)}))\nexcept ImportError:\n    print('{\"right\": 0}')\n"
        ),
    ),
    "output-of-a-program": (
        "python3 /tests/check.py > /logs/verifier/reward.txt\n",
        "import sys\nsys.path.insert(0, '/workspace')\ntry:\n    import work\nexcept ImportError:\n    print(0)\nelse:\n    print(float(work.add(2, 3) == 5))\n",
    ),
    "temporary-file": (
        f'{RIGHT}echo "{{\\"reward\\": $reward}}" > /logs/verifier/new && mv /logs/verifier/new {REWARD}\n',
        "",
    ),
    "copied-program": (
        "cp /tests/check.py /tmp/copy.py; cd /tmp; cp /workspace/* .; python3 copy.py\n",
        BY_PYTHON,
    ),
    "tee": (
        "exec > >(tee /logs/verifier/log) 2>&1\necho begin\n"
        + RIGHT
        + "echo $reward | tee /logs/verifier/reward.txt\n",
        "",
    ),
    "service": (
        (
            "sh add.sh serve > /tmp/out &\npid=$!\nwhile ! grep -q . /tmp/out; do sleep 0.05; done\n"
            f"grep -q ready /tmp/out && reward=1.0 || reward=0.0\n{WRITES}kill $pid; wait $pid || true\n"
        ),
        "",
    ),
}
HONEST_WORK = "echo 'def add(a, b): return a + b' > work.py\n" + work(
    '[ "$1" = serve ] && { echo ready; exec sleep 600; }; echo 5'
)


@each_where(HONEST)
def test_an_honest_reward_counts_however_the_verifier_writes_it(
    verifier: str, code: str, rewarded: Callable[..., Any]
) -> None:
    line = rewarded(HONEST_WORK, verifier, {"check.py": code} if code else None)
    assert (line["verdict"], line["reward"]) == ("pass", 1.0)


INSTALLS = (
    'if [ "$1" = install ]; then\n'
    "  place=$(python3 -c 'import site; print(site.getusersitepackages())'); mkdir -p $place\n"
    "  echo /workspace > $place/work.pth\n"
    "fi\n"
)


def test_honest_work_that_python_starts_with_is_rewarded(
    author: Author, steelyard: Steelyard, script: Callable[[str], str]
) -> None:
    """The work installs itself for its user. So does the reference, and Python loads a file of each before it compares."""
    check = {"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}
    lines = [*INSTALLS.splitlines(), "echo $(($1 + $2))"]
    patch = "".join(
        [
            "diff --git a/add.sh b/add.sh\n--- a/add.sh\n+++ b/add.sh\n",
            f"@@ -1 +1,{len(lines)} @@\n-echo $(($1 - $2))\n",
        ]
        + [f"+{line}\n" for line in lines]
    )
    verifier = (
        "sh add.sh install; sh add.sh 2 3 > /tmp/out\n"
        f'python3 -c \'import sys; sys.exit(open("/tmp/out").read() != "5\\n")\' && reward=1.0 || reward=0.0\n{WRITES}'
    )
    folder = author.write(
        {"tests/test.sh": verifier, "reference.patch": patch},
        reward="verifier",
        oracle={"checks": [check], "reference": "reference.patch"},
        environment=SMALL,
    )
    line = steelyard(
        "run", folder, "--agent", script(work(f"{INSTALLS}# the same\necho $(($1 + $2))")), "--json"
    ).line
    assert (line["verdict"], line["reward"]) == ("pass", 1.0)
