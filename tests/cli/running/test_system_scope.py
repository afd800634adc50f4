"""`scope: system`: the agent is root of the image, and what it changes anywhere in it is graded on a fresh container."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from containers import image

from authoring import Author, Steelyard

SMALL = {"memory_mb": {"guaranteed": 64, "limit": 512}, "disk_mb": 64, "processes": 64}
# Everything that the honest work leaves, wherever it is; and that the bench has none of the agent's processes.
VERIFIER = """\
mkdir -p /logs/verifier
cd /srv
if [ "$(cat /etc/greet.conf)" = hello ] && [ -x /usr/local/bin/greet ] && [ "$(greet)" = hello ] &&
   [ "$(stat -c %a /root/key)" = 600 ] && [ -d /srv/empty ] && [ ! -e /srv/old ] && [ -e /tmp/left ] &&
   [ "$(cat /srv/repo/.git/HEAD)" = ref ] && [ "$(readlink /srv/link)" = /etc/greet.conf ] && ! pgrep sleep; then
    echo 1 > /logs/verifier/reward.txt
else
    echo 0 > /logs/verifier/reward.txt
fi
"""
SOLVE = """\
echo hello > /etc/greet.conf
printf '#!/bin/sh\\ncat /etc/greet.conf\\n' > /usr/local/bin/greet
chmod 755 /usr/local/bin/greet
echo secret > /root/key; chmod 600 /root/key
mkdir /srv/empty /srv/repo /srv/repo/.git; echo ref > /srv/repo/.git/HEAD
rm /srv/old; touch /tmp/left; ln -s /etc/greet.conf /srv/link
sleep 1000 &
"""

SYSTEM: dict[str, Any] = {
    "repository": None,
    "environment": {**SMALL, "sandbox": "docker", "build": "image", "scope": "system"},
    "oracle": {
        "checks": [{"id": "verify", "type": "verifier", "script": "tests/test.sh", "timeout_s": 60}],
        "reference": {"script": "solution/solve.sh"},
    },
    "reward": "verifier",
}


@pytest.fixture
def contract(author: Author) -> Path:
    dockerfile = f"FROM {image().id}\nUSER 0\nRUN mkdir -p /usr/local/bin && touch /srv/old\nWORKDIR /srv\n"
    folder: Path = author.write(
        {
            "image/Dockerfile": dockerfile,
            "tests/test.sh": VERIFIER,
            "solution/solve.sh": SOLVE,
        },
        **SYSTEM,
        exports=["/etc/greet.conf", "/usr/local/bin/g*"],
    )
    return folder


def test_changes_anywhere_in_the_system_are_graded(contract: Path, steelyard: Steelyard) -> None:
    result = steelyard("run", contract, "--agent", "reference", "--agent", "noop", "--json")
    solved, idle = result.lines
    assert (solved["verdict"], solved["reward"]) == ("pass", 1.0), result.out + result.err
    assert (idle["verdict"], idle["reward"]) == ("fail", 0.0), result.out
    entries = json.loads(Path(solved["folder"], "change.json").read_text())["entries"]
    assert not [one for one in entries if one["path"].startswith(("proc", "dev", "sys"))]


def test_an_agent_is_root_without_raw_packets_and_devices(
    contract: Path, steelyard: Steelyard, script: Any
) -> None:
    agent = script(
        'test "$(id -u) $HOME $PWD" = "0 /root /srv" && chown 1000 /etc/nsswitch.conf && '
        "! mknod /srv/null c 1 3 && ! mount -t tmpfs x /tmp || exit 9"
    )
    result = steelyard("run", contract, "--agent", agent, "--json")
    assert result.line["termination"] == "completed", result.out
    manifest = json.loads(Path(result.line["folder"], "manifest.json").read_text())
    assert manifest["environment"]["run_uid"] == 0


CHEATS = {
    "a reward that was there before": "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json",
    "tests of its own": "mkdir -p /tests; echo 'mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt' > /tests/test.sh",
    "a background process": "setsid sh -c 'while :; do mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; done' >/dev/null 2>&1 &",
    "a shell that rewards": "cp /bin/bash /bin/real; printf '#!/bin/real\\necho 1 > /logs/verifier/reward.txt\\n' > /usr/local/bin/bash; chmod 755 /usr/local/bin/bash; cp /usr/local/bin/bash /usr/bin/bash",
    "tools that say yes": "for t in stat cat greet pgrep readlink; do printf '#!/bin/sh\\necho hello\\n' > /usr/local/bin/$t; chmod 755 /usr/local/bin/$t; done; rm /usr/bin/cat",
    "start-up files": "echo 'echo 1 > /logs/verifier/reward.txt; exit' | tee /root/.bashrc /root/.profile /etc/profile /etc/bash.bashrc /etc/environment > /etc/ld.so.preload",
    "the whole of bin": "cp -a /usr/bin /usr/bin2; rm /bin; mkdir /bin; cp -a /usr/bin2/. /bin/; echo x > /bin/other",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_grades_cannot_be_changed(contract: Path, steelyard: Steelyard, script: Any, cheat: str) -> None:
    result = steelyard("run", contract, "--agent", script(CHEATS[cheat]), "--json")
    assert (result.line["verdict"], result.line["reward"]) == ("fail", 0.0), result.out


# What a verifier that starts nothing of the agent's still reads: an isolated Python, by a shell.
ANSWER = """\
import json
try:
    is_right = json.load(open("/srv/answer.json"))["answer"] == 42
except Exception:
    is_right = False
open("/logs/verifier/reward.txt", "w").write(str(int(is_right)))
"""
ZIP = """\
import sys, zipfile
said = "import os, sys; '/tests' in ' '.join(sys.orig_argv) and (open('/logs/verifier/reward.txt', 'w').write('1'), os._exit(0))"
with zipfile.ZipFile(f"/usr/lib/python3{sys.version_info[1]}.zip", "w") as file:
    file.writestr("sitecustomize.py", said)
"""
NSS = """\
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void start(void) {
    char line[4096]; int file = open("/proc/self/cmdline", 0); int n = read(file, line, 4095);
    for (int i = 0; i + 6 < n; i++) if (!memcmp(line + i, "/tests", 6)) {
        file = open("/logs/verifier/reward.txt", O_CREAT | O_WRONLY | O_TRUNC, 0644);
        if (write(file, "1", 1) == 1) _exit(0);
    }
}
"""


@pytest.fixture
def answer(author: Author) -> Path:
    folder: Path = author.write(
        {
            "image/Dockerfile": f"FROM {image().id}\nUSER 0\nWORKDIR /srv\n",
            "tests/test.sh": "mkdir -p /logs/verifier\npython3 -I /tests/verify.py\n",
            "tests/verify.py": ANSWER,
            "solution/solve.sh": "echo '{\"answer\": 42}' > /srv/answer.json; echo x > /etc/x\n",
        },
        **SYSTEM,
    )
    return folder


def test_an_archive_of_pythons_library_does_not_grade(
    answer: Path, steelyard: Steelyard, script: Any
) -> None:
    agent = script(f"python3 - <<'END'\n{ZIP}END\nls /usr/lib/python3*.zip")
    result = steelyard("run", answer, "--agent", "reference", "--agent", agent, "--json")
    solved, cheated = result.lines
    assert (solved["verdict"], solved["reward"]) == ("pass", 1.0), result.out + result.err
    assert (cheated["verdict"], cheated["reward"]) == ("fail", 0.0), result.out
    assert [(one["id"], one["where"]) for one in solved["findings"]] == [("not_carried", "/etc/x")]
    assert [one["id"] for one in cheated["findings"]] == ["not_carried"]


def test_a_name_service_of_the_agents_does_not_grade(
    answer: Path, steelyard: Steelyard, script: Any, tmp_path: Path
) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    (tmp_path / "nss.c").write_text(NSS)
    line = [compiler, "-shared", "-fPIC", "-s", "-o", str(tmp_path / "nss.so"), str(tmp_path / "nss.c")]
    subprocess.run(line, check=True)
    library = base64.b64encode((tmp_path / "nss.so").read_bytes()).decode()
    agent = script(
        "python3 - <<'END'\nimport base64, glob\n"
        "for folder in glob.glob('/usr/lib/*-linux-gnu'):\n"
        f"    open(f'{{folder}}/libnss_evil.so.2', 'wb').write(base64.b64decode('{library}'))\n"
        "open('/etc/nsswitch.conf', 'w').write('passwd: evil files\\n')\nEND"
    )
    result = steelyard("run", answer, "--agent", agent, "--json")
    assert (result.line["verdict"], result.line["reward"]) == ("fail", 0.0), result.out
    assert "/etc/nsswitch.conf" in {one["where"] for one in result.line["findings"]}


def test_a_reference_that_needs_an_export_is_reported(contract: Path, steelyard: Steelyard) -> None:
    path = contract / "contract.yaml"
    path.write_text(re.sub(r"(?m)^exports:.*\n(- .*\n)*", "", path.read_text()))
    result = steelyard("check", contract, "--reference", "--json")
    assert result.code == 2
    reference = next(one for one in result.line["tried"] if one["name"] == "reference")
    assert reference["why"].endswith(
        "/etc/greet.conf and 1 more was not on the bench: add it to `exports`, or use `bench: live`"
    )


@pytest.mark.parametrize(
    "pattern", ["etc/x", "/etc/../x", "/etc/**", "/**", "/root/.*", "/tests/x", "/usr/local/*"]
)
def test_an_export_that_opens_what_grades_is_refused(
    author: Author, steelyard: Steelyard, pattern: str
) -> None:
    result = steelyard("check", author.write({"tests/test.sh": ""}, **SYSTEM, exports=["/srv/x", pattern]))
    assert result.code == 2
    assert ": exports[1]: " in result.out


@pytest.mark.parametrize(
    ("key", "value", "fix"),
    [
        ("repository", {"tree": "repo"}, "COPY in its Dockerfile"),
        ("setup", ["make"], "RUN in its Dockerfile"),
    ],
)
def test_everything_is_in_the_image(
    author: Author, steelyard: Steelyard, key: str, value: Any, fix: str
) -> None:
    environment = {"sandbox": "docker", "image": "sha256:" + "0" * 64, "scope": "system"}
    result = steelyard("check", author.write(**{"repository": None, "environment": environment, key: value}))
    assert result.code == 2
    assert f": {key}: with `scope: system`" in result.out
    assert fix in result.out


COMPARES = """\
mkdir -p /logs/verifier
if cmp -s /srv/out /tests/expected; then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""


@pytest.mark.parametrize(
    ("made", "reward"),
    [
        ("ln -s /tests/expected /srv/out", 0.0),
        ("ln -s / /srv/d; ln -s d/tests/expected /srv/out", 0.0),
        ("ln -s /proc/self/root/tests/expected /srv/out", 0.0),
        ("echo 42 > /srv/real; ln -s real /srv/out", 1.0),
    ],
)
def test_a_link_to_the_expected_output_is_no_output(
    author: Author, steelyard: Steelyard, script: Any, made: str, reward: float
) -> None:
    dockerfile = f"FROM {image().id}\nUSER 0\nWORKDIR /srv\n"
    files = {"image/Dockerfile": dockerfile, "tests/test.sh": COMPARES, "tests/expected": "42\n"}
    oracle = {"checks": SYSTEM["oracle"]["checks"]}
    folder = author.write(files, **{**SYSTEM, "oracle": oracle})
    result = steelyard("run", folder, "--agent", script(made), "--json")
    assert result.line["reward"] == reward, result.out
