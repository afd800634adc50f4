"""What is in a workspace, what it may hold, and what is left of it when everything is dead."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from steelyard.errors import InfraFault
from steelyard.sandboxes.base import Command, FileOverlay, Limits, Sandbox, SandboxSpec
from steelyard.sandboxes.bubblewrap.backend import BubblewrapBackend
from steelyard.sandboxes.toolchains import resolve

if TYPE_CHECKING:
    from tests.sandboxes.conftest import Shell, Start, Tree
both = pytest.mark.parametrize("kind", ["bubblewrap", "docker"], indirect=True)
SMALL = Limits(cpu=2, memory_mb=256, guaranteed_mb=64, disk_mb=16, tmp_mb=4, processes=64)


def read(descriptor: int, path: str) -> str:
    return Path(f"/proc/self/fd/{descriptor}", path).read_text()


def names(descriptor: int) -> set[str]:
    return set(os.listdir(descriptor))


def sh(sandbox: Sandbox, line: str) -> str:
    done = sandbox.run(Command(("sh", "-c", line)))
    return done.stdout.text + done.stderr.text


@both
def test_an_upper_layer_covers_a_lower_one(start: Start, tree: Tree) -> None:
    upper, lower = tree(both="upper\n", high="1"), tree(both="lower\n", low="1")
    assert sh(start(layers=(upper, lower)), "cat both; ls | tr '\\n' ' '") == "upper\nboth high low "


@both
def test_layers_are_never_written(start: Start, tree: Tree) -> None:
    layer = tree(a="1", folder__b="2")
    sh(start(layers=(layer,)), "echo changed > a; rm -r folder; touch new")
    assert (layer / "a").read_text() == "1"
    assert sorted(path.name for path in layer.iterdir()) == ["a", "folder"]


@both
def test_the_remains_are_the_workspace_as_it_was_left(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(kept="1", gone="2", folder__x="3"),))
    sh(sandbox, "rm gone; echo new > made; rm -r folder; mkdir folder; echo 4 > folder/y")
    sandbox.stop()
    captured_tree = sandbox.captured_tree()
    assert names(captured_tree.workspace) == {"kept", "made", "folder"}
    assert [path.name for path in Path(f"/proc/self/fd/{captured_tree.workspace}/folder").iterdir()] == ["y"]
    assert read(captured_tree.workspace, "made") == "new\n"


@both
def test_the_baseline_is_all_layers_and_no_change(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(a="upper"), tree(a="lower", b="2")))
    sh(sandbox, "rm a b; touch new")
    sandbox.stop()
    baseline = sandbox.captured_tree().baseline
    assert names(baseline) == {"a", "b"}
    assert read(baseline, "a") == "upper"


@both
def test_what_may_differ_is_in_touched(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(same="1", changed="1", gone="1"),))
    sh(sandbox, "echo 2 > changed; rm gone; touch made")
    sandbox.stop()
    touched = sandbox.captured_tree().touched
    assert touched is not None
    assert names(touched) == {"changed", "gone", "made"}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's overlay cannot rename a lower folder")
def test_root_can_rename_a_folder_of_a_layer(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(old__x="1"),))
    assert sh(sandbox, 'python3 -c \'import os; os.rename("old", "new")\'') == ""
    sandbox.stop()
    assert read(sandbox.captured_tree().workspace, "new/x") == "1"
    assert sandbox.captured_tree().redirects == "trusted.overlay.redirect"


def test_a_box_that_wants_every_rename_gets_it(start: Start, tree: Tree) -> None:
    sandbox = start(layers=(tree(old__x="1"),), rename="full")
    assert sh(sandbox, 'python3 -c \'import os; os.rename("old", "new")\'') == ""
    assert sandbox.facts.materialise == ("overlay" if os.geteuid() == 0 else "copy")


@both
def test_remains_are_refused_while_something_could_run(sandbox: Sandbox) -> None:
    with pytest.raises(RuntimeError):
        sandbox.captured_tree()


@both
def test_stop_twice_says_the_same(sandbox: Sandbox) -> None:
    assert sandbox.stop() == sandbox.stop()


@both
def test_home_is_private_and_writable(shell: Shell) -> None:
    assert shell("cd && pwd && ls -A && touch .rc && ls -A").stdout.text == "/home/agent\n.rc\n"


@both
def test_home_layers_are_under_home(start: Start, tree: Tree) -> None:
    layer = tree(profile="hi")
    sandbox = start(home_layers=(layer,))
    assert sh(sandbox, "cat ~/profile; echo bye > ~/profile; cat ~/profile") == "hibye\n"
    assert (layer / "profile").read_text() == "hi"


def test_the_disk_limit_is_exact_over_workspace_and_home(start: Start) -> None:
    sandbox = start(limits=replace(SMALL, disk_mb=8))
    sh(sandbox, "head -c 20000000 /dev/zero > big; head -c 20000000 /dev/zero > ~/big")
    used = int(sh(sandbox, "cat big ~/big | wc -c"))
    assert 7 << 20 < used <= 8 << 20
    assert sandbox.stop().disk_full


def test_a_full_disk_leaves_the_processes_their_memory(start: Start) -> None:
    sandbox = start(limits=replace(SMALL, disk_mb=64, memory_mb=64))
    sh(sandbox, "head -c 99000000 /dev/zero > big")
    assert sh(sandbox, "head -c 30000000 /dev/zero | tail -c 30000000 | wc -c") == "30000000\n"
    assert sandbox.stop().oom_kills == 0


def test_an_enforced_disk_limit_says_how(start: Start) -> None:
    assert start().facts.limits["disk"] == "tmpfs"
    assert start(limits=replace(SMALL, disk_mb=4096)).facts.limits["disk"] == "polled"


def test_a_big_disk_is_on_disk_and_gone_afterwards(start: Start, tmp_path: Path) -> None:
    sandbox = start(limits=replace(SMALL, disk_mb=4096))
    sh(sandbox, "mkdir locked; touch locked/x; chmod 000 locked; touch new")
    sandbox.stop()
    assert "new" in names(sandbox.captured_tree().workspace)
    sandbox.close()
    assert list((tmp_path / "cache" / "tmp").iterdir()) == []


def test_kept_uppers_are_a_layer_for_the_next(start: Start, tree: Tree, tmp_path: Path) -> None:
    base, keep = tree(a="1", gone="2", folder__x="3"), tmp_path / "keep"
    first = start(layers=(base,), keep=keep)
    sh(first, "rm gone; rm -r folder; mkdir folder; touch folder/y made; echo rc > ~/.rc")
    first.close()
    assert sorted(path.name for path in keep.iterdir()) == ["home", "workspace"]
    second = start(layers=(keep / "workspace", base), home_layers=(keep / "home",))
    assert sh(second, "ls; ls folder; cat ~/.rc") == "a\nfolder\nmade\ny\nrc\n"
    second.stop()
    assert names(second.captured_tree().baseline) == {"a", "folder", "made"}


@both
def test_laid_pieces_replace_whatever_stands_there(start: Start, tree: Tree, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("laid\n")
    layer = tree(file="1", folder__x="2", gone="3")
    (layer / "link").symlink_to("/etc")
    pieces = (
        FileOverlay("link/passwd", "file", source=source),
        FileOverlay("folder", "file", "755", source),
        FileOverlay("new/deep/link", "symlink", target="../../file"),
        FileOverlay("gone", "gone"),
        FileOverlay("empty", "dir"),
    )
    sandbox = start(layers=(layer,), overlays=pieces)
    assert sh(sandbox, "cat link/passwd new/deep/link; ./folder 2>&1 | wc -l; ls") == (
        "laid\n11\nempty\nfile\nfolder\nlink\nnew\n"
    )


@both
def test_laid_pieces_belong_to_the_one_who_runs(start: Start, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("x")
    sandbox = start(
        overlays=(FileOverlay("a/b", "file", source=source), FileOverlay("c", "symlink", target="a/b"))
    )
    assert (
        sh(sandbox, "stat -c %U . a a/b c; echo more >> a/b && cat a/b")
        == "agent\nagent\nagent\nagent\nxmore\n"
    )


def test_links_come_first_on_the_path(start: Start) -> None:
    sandbox = start(links={"python": Path("/usr/bin/true"), "extra": Path("/bin/echo")})
    assert sh(sandbox, "command -v python; extra hi") == "/run/steelyard/bin/python\nhi\n"


def test_a_toolchain_is_at_its_own_path(start: Start) -> None:
    (python,) = resolve({"python": f"{sys.version_info.major}.{sys.version_info.minor}"})
    prefixes = () if python.prefix is None else (python.prefix,)
    sandbox = start(toolchains=prefixes, links=dict(python.binaries))
    assert (
        sh(sandbox, "python -c 'import json, sys; print(*sys.version_info[:3], sep=\".\")'").strip()
        == python.version
    )


def test_a_host_file_is_there_and_read_only(start: Start, tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\n")
    sandbox = start(host_files={"/etc/pip.conf": config})
    assert sh(sandbox, "cat /etc/pip.conf; echo x 2>/dev/null > /etc/pip.conf || echo refused").endswith(
        "refused\n"
    )
    assert config.read_text() == "[global]\n"


def test_a_layer_that_is_not_there_is_the_machines_fault(tmp_path: Path) -> None:
    with pytest.raises(InfraFault, match="nowhere"):
        BubblewrapBackend().start(SandboxSpec(layers=(tmp_path / "nowhere",), limits=SMALL))


def test_a_failed_start_leaves_nothing(start: Start, tmp_path: Path) -> None:
    for _ in range(3):
        with pytest.raises(InfraFault):
            BubblewrapBackend().start(SandboxSpec(layers=(tmp_path / "nowhere",), limits=SMALL))
    assert sh(start(), "echo fine") == "fine\n"


def test_a_name_with_commas_and_colons_is_only_a_name(start: Start, tree: Tree, tmp_path: Path) -> None:
    odd = tmp_path / "a,b:c upperdir=x"
    tree(x="1").rename(odd)
    assert sh(start(layers=(odd,), keep=tmp_path / "k,e:ep"), "cat x") == "1"


ON_DISK = {
    "many files": "for n in $(seq 64); do head -c 1000000 /dev/zero > file$n; done; sleep 600",
    "deleted and open": "exec 3> gone; rm gone; head -c 14000000 /dev/zero >&3; exec 4> more; rm more; "
    "head -c 14000000 /dev/zero >&4; sleep 600",
    "empty files": "for n in $(seq 20000); do : > file$n; done; sleep 600",
}


@pytest.mark.parametrize("line", ON_DISK.values(), ids=ON_DISK.keys())
def test_a_workspace_on_disk_has_a_limit_too(
    start: Start, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr("steelyard.sandboxes.bubblewrap.backend.ON_DISK_ABOVE_MB", 8)
    sandbox = start(limits=SMALL)
    done = sandbox.run(Command(("sh", "-c", line), timeout_s=500))
    assert not done.timed_out
    assert sandbox.stop().disk_full


def test_what_fits_a_workspace_on_disk_is_left_alone(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("steelyard.sandboxes.bubblewrap.backend.ON_DISK_ABOVE_MB", 8)
    sandbox = start(limits=SMALL)
    line = "for n in 1 2 3; do head -c 3000000 /dev/zero > file$n; done; sleep 1.5; cat file1 | wc -c"
    assert sandbox.run(Command(("sh", "-c", line))).stdout.text.split() == ["3000000"]
    assert not sandbox.stop().disk_full
