"""A contract's own patch applies exactly, as git would apply it, or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from steelyard.contract.patches.unified_diff import PatchedFile, apply_unified
from steelyard.filesystem.tree import Entry

Tree = dict[str, bytes]


def entries(tree: Tree) -> dict[str, Entry]:
    return {
        path: Entry("file", "644", len(data), hashlib.sha256(data).hexdigest()) for path, data in tree.items()
    }


def applied(patch: bytes, tree: Tree) -> Tree:
    after = dict(tree)
    for path, patched in apply_unified(patch, entries(tree), tree.__getitem__).items():
        if patched.content is None:
            del after[path]
        else:
            after[path] = patched.content
    return after


def git_diff(folder: Path, before: Tree, after: Tree) -> bytes:
    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", folder, *words], check=True, capture_output=True).stdout

    folder.mkdir(parents=True)
    git("init", "-q")
    for tree in (before, after):
        for path in folder.rglob("*"):
            if path.is_file() and ".git" not in path.relative_to(folder).parts:
                path.unlink()
        for name, data in tree.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        git("add", "-A", "-f")
        if tree is before:
            git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x", "--allow-empty")
    return git("diff", "--cached", "-M")


BEFORE: Tree = {
    "tests/test_a.py": b"".join(b"line %d\n" % number for number in range(40)),
    "no_end.txt": b"one\ntwo",
    "gone.py": b"x = 1\n",
    "moved.py": b"".join(b"kept %d\n" % number for number in range(20)),
    "crlf.txt": b"a\r\nb\r\nc\x0cd\r\n",
    "empty.py": b"",
}
AFTER: dict[str, Tree] = {
    "lines in two places": {**BEFORE, "tests/test_a.py": BEFORE["tests/test_a.py"].replace(b"line 3\n", b"x\ny\n").replace(b"line 35\n", b"")},
    "a new file": {**BEFORE, "tests/new/test_b.py": b"assert True\n"},
    "a new empty file": {**BEFORE, "tests/__init__.py": b""},
    "a file that is gone": {path: data for path, data in BEFORE.items() if path != "gone.py"},
    "an empty file that is gone": {path: data for path, data in BEFORE.items() if path != "empty.py"},
    "an empty file that is filled": {**BEFORE, "empty.py": b"x\n"},
    "a last line without its end": {**BEFORE, "no_end.txt": b"one\nthree"},
    "a last line that gets its end": {**BEFORE, "no_end.txt": b"one\ntwo\n"},
    "other ends of lines": {**BEFORE, "crlf.txt": b"a\r\nB\r\nc\x0cd\r\n"},
    "a rename": {("sub/moved.py" if path == "moved.py" else path): data for path, data in BEFORE.items()},
    "a rename with an edit": {
        ("sub/moved.py" if path == "moved.py" else path): data.replace(b"kept 7", b"new 7")
        for path, data in BEFORE.items()
    },
    "a name with a space and an umlaut": {**BEFORE, "tests/t ü.py": b"x\n"},
}  # fmt: skip


@pytest.mark.parametrize("name", AFTER)
def test_a_patch_that_git_made_gives_what_git_had(name: str, tmp_path: Path) -> None:
    assert applied(git_diff(tmp_path / "g", BEFORE, AFTER[name]), BEFORE) == AFTER[name]


@settings(max_examples=25)
@given(
    before=st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"]), max_size=30),
    after=st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n"]), min_size=1, max_size=30),
    cut=st.sampled_from([-1, None]),
)
def test_any_edit_that_git_can_write_is_applied_as_written(
    before: list[bytes], after: list[bytes], cut: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    old, new = {"f": b"".join(before) + b"end"}, {"f": b"".join(after)[:cut] or b"x"}
    if old != new:
        assert applied(git_diff(tmp_path_factory.mktemp("g") / "r", old, new), old) == new


def test_the_mode_of_a_file_is_carried() -> None:
    patch = b"diff --git a/x.sh b/x.sh\nold mode 100644\nnew mode 100755\n"
    tree = {"x.sh": b"true\n"}
    assert apply_unified(patch, entries(tree), tree.__getitem__) == {"x.sh": PatchedFile(b"true\n", "755")}


HUNK = b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n"


@pytest.mark.parametrize(
    ("patch", "tree", "result"),
    [
        (HUNK, {"f": b"one\ntwo\nthree!\n"}, "f differs from the patch at line 1"),
        (HUNK, {"f": b"zero\none\ntwo\nthree\n"}, "f differs from the patch at line 1"),  # no offset
        (HUNK, {}, "f is not a file of the snapshot"),
        (HUNK.replace(b"a/f", b"/dev/null"), {"f": b"x\n"}, "f exists already"),
        (HUNK + HUNK, {"f": b"one\ntwo\nthree\n"}, "twice"),
        (HUNK[:-8], {"f": b"one\ntwo\nthree\n"}, "ends too early"),
        (HUNK.replace(b" one", b"?one"), {"f": b"one\ntwo\nthree\n"}, "belongs to no hunk"),
        (HUNK.replace(b"-1,3 +1,3", b"nonsense"), {"f": b""}, "head of a hunk"),
        (HUNK.replace(b"a/f", b"a/../f"), {"f": b""}, "not a path inside"),
        (HUNK.replace(b"a/f", b"/etc/passwd"), {"f": b""}, "not a path inside"),
        (b"diff --git a/f b/f\nindex 1..2\nBinary files a/f and b/f differ\n", {"f": b""}, "binary"),
        (
            b"diff --git a/f b/f\nnew file mode 120000\n--- /dev/null\n+++ b/f\n",
            {},
            "plain nor an executable",
        ),
        (b"@@ -1 +1 @@\n-a\n+b\n", {"f": b"a\n"}, "a hunk without a file"),
        (b"", {}, "the patch names no file"),
        (b"just words\n", {}, "the patch names no file"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_with_the_reason(patch: bytes, tree: Tree, result: str) -> None:
    with pytest.raises(ValueError, match=result):
        applied(patch, tree)


@given(st.binary(max_size=200))
def test_whatever_the_patch_holds_the_only_fault_is_a_refusal(patch: bytes) -> None:
    with contextlib.suppress(ValueError):
        applied(HUNK[:20] + patch, {"f": b"one\n"})
