"""A commit becomes a tree and a `.git` without earlier or later commits."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from contract_folders import Git, new_repository

from steelyard.contract.model import Repository
from steelyard.contract.snapshot.materialise import EPOCH_S
from steelyard.contract.snapshot.snapshot import Snapshot, take_snapshot
from steelyard.errors import ContractFault
from steelyard.filesystem.cache import Cache
from steelyard.filesystem.contents import check_contents
from steelyard.filesystem.owner import run_uid
from steelyard.filesystem.tree import Entry, content_root


def take(repository: Git | Path, commit: str, store: Cache, **keys: Any) -> Snapshot:
    place = repository.folder if isinstance(repository, Git) else repository
    return take_snapshot(Repository(git=str(place), commit=commit, **keys), Path("/"), store)


def refused(repository: Git | Path, commit: str, store: Cache, **keys: Any) -> str:
    with pytest.raises(ContractFault) as caught:
        take(repository, commit, store, **keys)
    (problem,) = caught.value.problems
    return str(problem)


def workspace(snapshot: Snapshot, folder: Path) -> Git:
    """Both layers together, as an agent sees them, but as files of our own."""
    shutil.copytree(snapshot.tree, folder, symlinks=True)
    shutil.copytree(snapshot.git, folder, symlinks=True, dirs_exist_ok=True)
    return Git(folder)


def write_mess(repository: Git) -> str:
    """Names and contents that checkouts get wrong."""
    (repository.folder / "run.sh").write_text("#!/bin/sh\n")
    (repository.folder / "run.sh").chmod(0o755)
    (repository.folder / "link").symlink_to("src/gone")
    raw = os.fsencode(str(repository.folder)) + b'/caf\xe9 "x"\n.txt'
    Path(os.fsdecode(raw)).write_bytes(b"\x00\xff")
    return repository.commit(
        {
            "src/a.py": "print(1)\n",
            "crlf.txt": b"one\r\ntwo\r\n",
            "lf.txt": b"one\n",
            "ident.txt": "$Id$\n",
            "empty": "",
            ".gitattributes": "crlf.txt text\nlf.txt eol=crlf\nident.txt ident\n*.py filter=evil\nsecret export-ignore\n",
            ".gitignore": "*.log\n",
            "secret": "kept\n",
        }
    )


def test_the_bytes_are_those_of_the_commit(repository: Git, store: Cache) -> None:
    commit = write_mess(repository)
    repository.commit({"src/a.py": "print(2)\n"})
    snapshot = take(repository, commit, store)
    assert (snapshot.tree / "src/a.py").read_text() == "print(1)\n"
    assert (snapshot.tree / "lf.txt").read_bytes() == b"one\n"
    assert (snapshot.tree / "ident.txt").read_text() == "$Id$\n"
    assert (snapshot.tree / "secret").read_text() == "kept\n"
    assert os.readlink(snapshot.tree / "link") == "src/gone"  # noqa: PTH115  # the exact bytes
    assert snapshot.entries[os.fsdecode(b'caf\xe9 "x"\n.txt')].size == 2
    assert snapshot.entries["run.sh"].mode == "755"
    assert snapshot.commit == commit
    assert content_root(snapshot.entries) == snapshot.root


def test_no_git_is_left_in_the_tree(repository: Git, store: Cache) -> None:
    commit = write_mess(repository)
    snapshot = take(repository, commit, store)
    assert [path for path in snapshot.tree.rglob("*") if path.name == ".git"] == []
    assert [path.name for path in snapshot.git.iterdir()] == [".git"]


@pytest.mark.parametrize("history", ["none", "full"])
def test_git_status_is_clean_and_reads_no_contents(
    repository: Git, store: Cache, tmp_path: Path, history: str
) -> None:
    snapshot = take(repository, write_mess(repository), store, history=history)
    git = workspace(snapshot, tmp_path / "workspace")
    assert git("status", "--porcelain") == ""
    place = git.folder / "src/a.py"
    times = place.stat()
    place.write_text("print(7)\n")  # same size, same time: only somebody who reads it could know
    os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert git("status", "--porcelain") == ""
    place.write_text("print(7)\n")
    assert git("status", "--porcelain").split() == ["M", "src/a.py"]


def test_without_history_there_is_one_commit_and_nothing_else(
    repository: Git, store: Cache, tmp_path: Path
) -> None:
    repository.commit({"a": "the past"})
    commit = repository.commit({"a": "now"})
    repository.commit({"a": "the future"})
    repository("tag", "later")
    git = workspace(take(repository, commit, store), tmp_path / "workspace")
    assert git("log", "--all", "--format=%an %s %ad", "--date=unix") == f"Steelyard baseline {EPOCH_S}"
    assert git("branch", "--show-current") == "main"
    assert git("reflog") == ""
    assert git("cat-file", "--batch-all-objects", "--batch-check=%(objecttype)").split().count("blob") == 1


def test_full_history_ends_at_the_commit(repository: Git, store: Cache, tmp_path: Path) -> None:
    repository.commit({"a": "the past"}, "past")
    commit = repository.commit({"a": "now"}, "now")
    future = repository.commit({"a": "the future"}, "future")
    repository("tag", "-m", "x", "later")
    repository("checkout", "-q", "-b", "side", commit)
    side = repository.commit({"b": "aside"}, "side")
    git = workspace(take(repository, commit, store, history="full"), tmp_path / "workspace")
    assert git("log", "--all", "--format=%s").split() == ["now", "past"]
    assert git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git("rev-parse", "HEAD") == commit
    objects = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert future not in objects
    assert side not in objects
    assert git("reflog") == ""
    assert git("fsck", "--full", "--no-dangling") == ""


def test_an_agent_can_stash_and_commit(repository: Git, store: Cache, tmp_path: Path) -> None:
    folder = workspace(
        take(repository, repository.commit({"a": "1\n"}), store), tmp_path / "workspace"
    ).folder
    (folder / "a").write_text("2\n")
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "-C", folder, "stash", "-q"], check=True, env=env)
    subprocess.run(["git", "-C", folder, "stash", "pop", "-q"], check=True, env=env)
    subprocess.run(["git", "-C", folder, "commit", "-qam", "mine"], check=True, env=env)


def test_the_root_depends_on_contents_only(repository: Git, store: Cache, tmp_path: Path) -> None:
    files = {"a": "1\n", "d/b": "2\n"}
    first = take(repository, repository.commit(files, "one"), store)
    other = new_repository(tmp_path / "other")
    other.commit({"x": "gone\n"})
    (other.folder / "x").unlink()
    second = take(other, other.commit(files, "another story"), Cache(tmp_path / "second store"))
    assert first.root == second.root
    assert first.commit != second.commit


def test_two_caches_hold_the_same_git_objects(repository: Git, store: Cache, tmp_path: Path) -> None:
    commit = write_mess(repository)
    heads = [
        (take(repository, commit, cache).git / ".git/refs/heads/main").read_text()
        for cache in (store, Cache(tmp_path / "second"))
    ]
    assert heads[0] == heads[1]


def test_everything_has_one_owner_one_time_and_plain_modes(repository: Git, store: Cache) -> None:
    snapshot = take(repository, write_mess(repository), store)
    for path in [snapshot.tree, *snapshot.tree.rglob("*")]:
        found = path.lstat()
        assert (found.st_uid, int(found.st_mtime)) == (run_uid(), EPOCH_S)
        if not path.is_symlink():
            assert stat.S_IMODE(found.st_mode) in (0o644, 0o755)
    assert {path.lstat().st_uid for path in snapshot.git.rglob("*")} == {run_uid()}


def test_a_commit_that_was_taken_is_not_read_again(repository: Git, store: Cache) -> None:
    commit = repository.commit({"a": "1\n"})
    first = take(repository, commit, store)
    for blob in (repository.folder / ".git/objects").rglob("*"):
        if blob.is_file() and not blob.match(f"*/{commit[:2]}/{commit[2:]}"):
            blob.unlink()
    assert take(repository, commit, store) == first


def test_a_bare_repository_a_bundle_and_a_linked_work_tree_give_the_same(
    repository: Git, store: Cache, tmp_path: Path
) -> None:
    commit = repository.commit({"a": "1\n"})
    bare, bundle, linked = tmp_path / "bare.git", tmp_path / "repo.bundle", tmp_path / "linked"
    repository("clone", "-q", "--bare", ".", str(bare))
    repository("bundle", "create", "-q", str(bundle), "trunk")
    repository("worktree", "add", "-q", str(linked))
    roots = {
        take(place, commit, Cache(tmp_path / f"store-{place.name}")).root
        for place in (bare, bundle, linked, repository.folder)
    }
    assert len(roots) == 1
    full = take(bundle, commit, store, history="full")
    assert (full.git / ".git/refs/heads/main").read_text().strip() == commit


def test_a_relative_path_and_a_file_url_are_found(repository: Git, store: Cache) -> None:
    commit = repository.commit({"a": "1\n"})
    folder = repository.folder.parent / "demo"
    for place in ("../upstream", f"file://{repository.folder}"):
        assert take_snapshot(Repository(git=place, commit=commit), folder, store).commit == commit


def test_a_repository_of_another_user_can_be_read(repository: Git, store: Cache) -> None:
    commit = repository.commit({"a": "1\n"})
    if os.geteuid() == 0:
        for path in [repository.folder, *repository.folder.rglob("*")]:
            os.chown(path, 12345, 12345)
    assert take(repository, commit, store).entries["a"].size == 2


def test_a_sha256_repository_is_read(tmp_path: Path, store: Cache) -> None:
    (tmp_path / "new").mkdir()
    repository = Git(tmp_path / "new")
    repository("init", "-q", "--object-format=sha256", "-b", "trunk")
    commit = repository.commit({"a": "1\n"})
    repository("bundle", "create", "-q", str(tmp_path / "new.bundle"), "trunk")
    git = workspace(take(repository, commit, store, history="full"), tmp_path / "workspace")
    assert git("rev-parse", "HEAD") == commit
    assert take(tmp_path / "new.bundle", commit, Cache(tmp_path / "other")).entries["a"].size == 2


def test_nothing_that_the_repository_configures_ever_runs(
    repository: Git, store: Cache, tmp_path: Path
) -> None:
    """Hooks, filters, fsmonitor, pagers and a promisor remote: all of them would leave a mark."""
    commit = write_mess(repository)
    mark = tmp_path / "mark"
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {mark}\n")
    trap.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "filter.evil.clean",
        "filter.evil.smudge",
        "core.askPass",
    ):
        repository("config", key, str(trap))
    repository("config", "core.hooksPath", str(tmp_path))
    repository("config", "extensions.partialClone", "origin")
    repository("config", "remote.origin.url", str(repository.folder))
    repository("config", "remote.origin.promisor", "true")
    repository("config", "remote.origin.uploadpack", str(trap))
    take(repository, commit, store, history="full")
    blob = next(
        path
        for path in (repository.folder / ".git/objects").rglob("*")
        if path.is_file() and commit[2:] not in path.name
    )
    blob.unlink()
    with pytest.raises(ContractFault):
        take(repository, commit, Cache(tmp_path / "second"))
    assert not mark.exists()


@pytest.mark.parametrize(
    "commit", ["HEAD", "trunk", "abc1234", "A" * 40, "0" * 41, "-" * 40, "0" * 40 + "\n"]
)
def test_only_a_full_commit_id_names_a_commit(repository: Git, store: Cache, commit: str) -> None:
    repository.commit({"a": "1\n"})
    assert "is not a full commit id" in refused(repository, commit, store)


def test_an_absent_commit_is_refused_with_the_fix(repository: Git, store: Cache) -> None:
    repository.commit({"a": "1\n"})
    assert f"repository.commit: the repository has no commit {'0' * 40} (fetch it" in refused(
        repository, "0" * 40, store
    )


def test_an_id_of_something_else_is_refused(repository: Git, store: Cache) -> None:
    repository.commit({"a": "1\n"})
    repository("tag", "-m", "x", "v1")
    assert "is a tag, not a commit" in refused(repository, repository("rev-parse", "v1"), store)
    assert "is a tree, not a commit" in refused(repository, repository("rev-parse", "HEAD^{tree}"), store)


def test_what_is_no_repository_is_refused(tmp_path: Path, store: Cache) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("hello")
    (tmp_path / "cut.bundle").write_bytes(b"# v2 git bundle\n" + b"0" * 40 + b" refs/heads/x\n\nPACK")
    commit = "0" * 40
    assert "does not exist" in refused(tmp_path / "gone", commit, store)
    assert "is not a git repository" in refused(tmp_path / "folder", commit, store)
    assert "is neither a git repository nor a bundle" in refused(tmp_path / "file", commit, store)
    assert "cannot be read" in refused(tmp_path / "cut.bundle", commit, store)
    with pytest.raises(ContractFault, match="is not on this machine"):
        take_snapshot(Repository(git="https://example.org/x.git", commit=commit), tmp_path, store)


def test_a_bundle_without_its_base_is_refused(repository: Git, store: Cache, tmp_path: Path) -> None:
    repository.commit({"a": "1\n"})
    commit = repository.commit({"a": "2\n"})
    repository("bundle", "create", "-q", str(tmp_path / "part.bundle"), "HEAD~1..trunk")
    assert "cannot be read" in refused(tmp_path / "part.bundle", commit, store)


def test_a_shallow_clone_has_no_full_history(repository: Git, store: Cache, tmp_path: Path) -> None:
    repository.commit({"a": "1\n"})
    commit = repository.commit({"a": "2\n"})
    repository("clone", "-q", "--depth=1", f"file://{repository.folder}", str(tmp_path / "shallow"))
    assert "is a shallow clone" in refused(tmp_path / "shallow", commit, store, history="full")
    assert take(tmp_path / "shallow", commit, store).entries["a"].size == 2


@pytest.mark.parametrize("target", ["/etc/passwd", "../../x", "link"])
def test_a_symlink_out_or_round_is_refused_by_name(repository: Git, store: Cache, target: str) -> None:
    (repository.folder / "link").symlink_to(target)
    assert "the symlink link " in refused(repository, repository.commit({}), store)


def test_a_tree_with_a_forged_name_is_refused(repository: Git, store: Cache, tmp_path: Path) -> None:
    """Even git refuses to check such a tree out; a reader of objects has to refuse on its own."""
    blob = repository("hash-object", "-w", "--stdin")
    for name, message in ((b"..", "leads out"), (b"a/../../b", "leads out"), (b".", "cannot be a file name")):
        raw = b"100644 " + name + b"\0" + bytes.fromhex(blob)
        made = subprocess.run(
            ["git", "-C", repository.folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
            input=raw,
            capture_output=True,
            check=True,
        )
        commit = repository("commit-tree", "-m", "x", made.stdout.decode().strip())
        assert message in refused(repository, commit, store)
    assert not (tmp_path / "b").exists()


def test_a_git_folder_forged_into_a_tree_is_left_out(repository: Git, store: Cache) -> None:
    blob = repository("hash-object", "-w", "--stdin")
    raw = b"100644 .git\0" + bytes.fromhex(blob) + b"100644 a\0" + bytes.fromhex(blob)
    made = subprocess.run(
        ["git", "-C", repository.folder, "hash-object", "-t", "tree", "-w", "--literally", "--stdin"],
        input=raw,
        capture_output=True,
        check=True,
    )
    commit = repository("commit-tree", "-m", "x", made.stdout.decode().strip())
    assert list(take(repository, commit, store).entries) == ["a"]


def with_submodule(repository: Git, tmp_path: Path) -> tuple[str, Git, str]:
    inner = new_repository(tmp_path / "inner")
    pinned = inner.commit({"lib.py": "1\n"})
    inner.commit({"lib.py": "2\n"})
    repository.commit({"a": "1\n"})
    repository("update-index", "--add", "--cacheinfo", f"160000,{pinned},deps/inner")
    repository("commit", "-q", "-m", "pin")
    return repository("rev-parse", "HEAD"), inner, pinned


def test_a_submodule_without_a_mapping_is_empty_and_said_so(
    repository: Git, store: Cache, tmp_path: Path
) -> None:
    commit, _, pinned = with_submodule(repository, tmp_path)
    snapshot = take(repository, commit, store)
    assert snapshot.submodules == (("deps/inner", pinned, False),)
    assert snapshot.entries["deps/inner"] == Entry("dir")
    assert (snapshot.tree / "deps/inner").is_dir()
    assert take(repository, commit, store).submodules == snapshot.submodules


@pytest.mark.parametrize("history", ["none", "full"])
def test_a_submodule_is_taken_at_its_pinned_commit(
    repository: Git, store: Cache, tmp_path: Path, history: str
) -> None:
    commit, inner, pinned = with_submodule(repository, tmp_path)
    snapshot = take(repository, commit, store, history=history, submodules={"deps/inner": str(inner.folder)})
    assert snapshot.submodules == (("deps/inner", pinned, True),)
    assert (snapshot.tree / "deps/inner/lib.py").read_text() == "1\n"
    assert workspace(snapshot, tmp_path / "workspace")("status", "--porcelain") == ""


def test_a_mapping_of_no_submodule_is_refused(repository: Git, store: Cache, tmp_path: Path) -> None:
    commit, inner, _ = with_submodule(repository, tmp_path)
    mapping = {"deps/outer": str(inner.folder)}
    assert "no submodule at deps/outer" in refused(repository, commit, store, submodules=mapping)


def test_a_submodule_without_its_commit_is_refused(repository: Git, store: Cache, tmp_path: Path) -> None:
    commit, _, pinned = with_submodule(repository, tmp_path)
    mapping = {"deps/inner": str(repository.folder)}
    result = refused(repository, commit, store, submodules=mapping)
    assert f"repository.submodules.deps/inner: the repository has no commit {pinned}" in result


def wrong(snapshot: Snapshot) -> str | None:
    return check_contents(snapshot.folder).wrong


def test_a_damaged_snapshot_is_noticed(repository: Git, store: Cache) -> None:
    snapshot = take(repository, repository.commit({"a": "1\n", "b": "2\n"}), store)
    assert wrong(snapshot) is None
    place = snapshot.tree / "a"
    place.write_text("9\n")
    os.utime(place, (EPOCH_S, EPOCH_S))
    assert wrong(snapshot) == "tree/a differs from the record"
    place.write_text("1\n")
    os.utime(place, (EPOCH_S, EPOCH_S))
    assert wrong(snapshot) is None
    place.chmod(0o600)
    assert wrong(snapshot) == "tree/a differs from the record"
    place.unlink()
    assert wrong(snapshot) == "tree/a is missing"


def test_an_added_file_is_noticed(repository: Git, store: Cache) -> None:
    snapshot = take(repository, repository.commit({"a": "1\n"}), store)
    (snapshot.tree / "more").write_text("x")
    assert wrong(snapshot) == "tree/more differs from the record"


def test_an_ordinary_user_owns_its_snapshots(ordinary_user: Path) -> None:
    repository = new_repository(ordinary_user / "upstream")
    snapshot = take(repository, repository.commit({"a": "1\n"}), Cache(ordinary_user / "store"))
    assert snapshot.run_uid == os.geteuid()
    assert wrong(snapshot) is None
