"""Who is not the operator tries to read records, or to change them, through the viewer.

Another user of the machine connects to its port. A page of another site resolves its own name to 127.0.0.1, sends forms,
or embeds pages. A run folder has links to files outside. What must hold: without the token there is no answer, a foreign
name gets none, a foreign form is refused, and no address leads out of the folder of runs.
"""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_runs import HELD, held_run_folder
from sealed_run import make_grading, make_sealed_run
from viewer import Viewer, viewing

from steelyard.evidence.folder.gradings import append_grading
from steelyard.execution.supervision.decisions import CONTROL
from steelyard.filesystem.remove import remove_tree
from steelyard.web.access import Access

RUN = "20260307T120000000Z-c-noop-abcdef"
PATHS = (
    "/",
    f"/run/{RUN}",
    f"/run/{RUN}/raw/manifest.json",
    f"/run/{RUN}/events.json",
    "/export",
    "/nothing",
)


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.txt").write_text("the operator's own")
    root = tmp_path_factory.mktemp("runs")
    folder = make_sealed_run(root)
    append_grading(folder, make_grading())
    (folder.path / "agent" / "link.txt").symlink_to(outside / "secret.txt")
    (folder.path / "linked").symlink_to(outside)
    (root / "linked-run").symlink_to(outside)
    with viewing(root) as running:
        yield running


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_answered_without_the_token(viewer: Viewer, path: str) -> None:
    for headers in ({}, {"Cookie": f"{viewer.access.cookie}=guess"}, {"Authorization": "Bearer guess"}):
        answer = viewer.ask(path, headers=headers, token=False)
        assert answer.status == 403
        assert RUN not in answer.text
    assert viewer.ask(f"{path}?token=guess").status == 403


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(
    viewer: Viewer,
) -> None:
    answer = viewer.ask(f"/agents?token={viewer.access.token}&x=1", token=False)
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "url=/agents?x=1" in answer.text
    assert viewer.access.token not in answer.text


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost:1",
        "",
        "10.0.0.1:{port}",
    ],
)
def test_a_name_of_another_site_gets_no_answer(viewer: Viewer, host: str) -> None:
    """A page whose name is bound to 127.0.0.1 after it was loaded sends its own name."""
    answer = viewer.ask("/", headers={"Host": host.format(port=viewer.access.port)})
    assert answer.status in (400, 421)
    assert RUN not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_names_of_this_machine_are_answered(viewer: Viewer, host: str) -> None:
    assert viewer.ask("/", headers={"Host": host.format(port=viewer.access.port)}).status == 200


def test_a_server_for_other_machines_answers_to_its_addresses_and_to_no_foreign_name() -> None:
    access = Access(80, "0.0.0.0", ("evaluation.example",))  # noqa: S104  # the case
    assert access.is_known_host("192.168.1.5:80")
    assert access.is_known_host("evaluation.example:80")
    assert not access.is_known_host("evil.example:80")


FOREIGN = (
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_form_of_another_site_changes_nothing(viewer: Viewer, headers: dict[str, str]) -> None:
    answer = viewer.post(f"/run/{RUN}/review", {"judgment": "pass", "reviewer": "mallory"}, headers)
    assert answer.status == 403
    assert not (viewer.site.root / RUN / "annotations").exists()


@pytest.mark.parametrize("csrf", ["", "0" * 64])
def test_a_form_without_its_token_changes_nothing(viewer: Viewer, csrf: str) -> None:
    form = {"judgment": "pass", "reviewer": "mallory", "csrf": csrf}
    assert viewer.post(f"/run/{RUN}/review", form).status == 403
    assert not (viewer.site.root / RUN / "annotations").exists()


DECISION = {"alert": "3", "decision": "resume", "by": "mallory", "reason": "trust me"}


@pytest.mark.parametrize("sent", [{"headers": FOREIGN[0]}, {"csrf": "0" * 64}])
def test_a_form_of_another_site_does_not_resume_a_paused_run(viewer: Viewer, sent: dict[str, Any]) -> None:
    with held_run_folder(viewer.site.root) as folder:
        form = {**DECISION, **({"csrf": sent["csrf"]} if "csrf" in sent else {})}
        answer = viewer.post(f"/run/{HELD}/decide", form, sent.get("headers"))
        assert answer.status == 403
        assert not folder.file(CONTROL).exists()
    remove_tree(folder.path)


@pytest.mark.parametrize("method", ["OPTIONS", "PUT", "DELETE", "PATCH", "TRACE"])
def test_other_methods_are_refused_and_no_other_site_may_read(viewer: Viewer, method: str) -> None:
    answer = viewer.ask("/", method=method, headers={"Origin": "http://evil.example"})
    assert answer.status == 405
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_forbids_foreign_scripts_frames_and_readers(viewer: Viewer, path: str) -> None:
    answer = viewer.ask(path)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


OUTSIDE = (
    f"/run/{RUN}/raw/agent/link.txt",
    f"/run/{RUN}/file/agent/link.txt",
    f"/run/{RUN}/raw/linked/secret.txt",
    f"/run/{RUN}/file/linked/secret.txt",
    f"/run/{RUN}/raw/../../../etc/passwd",
    f"/run/{RUN}/raw/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    f"/run/{RUN}/raw/..%2f..%2f..%2fetc%2fpasswd",
    f"/run/{RUN}/raw//etc/passwd",
    f"/run/{RUN}/raw/agent%00/stdout.txt",
    "/run/linked-run",
    "/run/linked-run/raw/secret.txt",
    "/run/..",
    "/run/%2e%2e",
    "/run/.%2f" + RUN,
    "/run/%2fetc",
    "/static/../access.py",
    "/static/%2e%2e%2faccess.py",
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_address_leads_out_of_the_folder_of_runs(viewer: Viewer, path: str) -> None:
    answer = viewer.ask(path)
    assert answer.status in (400, 404)
    assert b"the operator's own" not in answer.body
    assert b"root:" not in answer.body


def test_a_browser_is_started_without_the_token_in_its_arguments(tmp_path: Path) -> None:
    """Every user of a machine sees the arguments of every process."""
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n')
    browser.chmod(0o755)
    program = (
        "from steelyard.web.start import open_browser\n"
        "import os, sys\n"
        "(path,) = open_browser('http://127.0.0.1:1/?token=secret&x=\"1')\n"
        "print(oct(os.stat(path).st_mode), path)\n"
        "print(path.read_text())\n"
        "path.unlink()\n"
    )
    env = {**os.environ, "DISPLAY": ":0", "BROWSER": str(browser)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, check=True
    )
    mode = int(done.stdout.split()[0], 8)
    assert stat.S_IMODE(mode) == 0o600
    assert "token=secret" in done.stdout
    assert "secret" not in (tmp_path / "arguments").read_text()
