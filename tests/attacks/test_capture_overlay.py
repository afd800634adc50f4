"""The upper of an overlay only says where to look; nothing that an agent plants in it is believed."""

from __future__ import annotations

from pathlib import Path

import pytest
from capture_stage import FILES, ROOT, changed, found, overlay

from steelyard.evidence.change.change import Change
from steelyard.evidence.change.importer import import_workspace
from steelyard.evidence.folder.blobs import Blobs


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "baseline" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "baseline" / name).write_text(text)
    (tmp_path / "scratch").mkdir()
    return tmp_path / "baseline"


def capture(baseline: Path, script: str, *prefix: str) -> Change:
    scratch = baseline.parent / "scratch"
    with overlay(baseline, scratch, *prefix, "/bin/sh", "-ec", script) as captured_tree:
        return import_workspace(captured_tree, baseline_root=ROOT, blobs=Blobs(baseline.parent / "blobs"))


def test_an_idle_agent_changed_nothing(baseline: Path) -> None:
    """Reading, and rewriting a file with its own bytes, is no change."""
    change = capture(
        baseline, "cat src/cart.py; cp src/cart.py x; cp x src/cart.py; rm x; touch docs/guide.md"
    )
    assert (change.entries, change.findings) == ((), ())


def test_a_deletion_leaves_no_file_in_the_upper_and_is_seen(baseline: Path) -> None:
    """The agent deletes a test; the upper holds only a whiteout."""
    assert changed(capture(baseline, "rm tests/test_cart.py")) == {"tests/test_cart.py": "deleted"}


def test_a_recreated_folder_hides_what_was_in_it_and_is_seen(baseline: Path) -> None:
    """The agent removes a folder and makes a new one of the same name."""
    change = capture(baseline, "rm -r tests; mkdir tests; echo x > tests/other.py")
    assert changed(change) == {"tests/test_cart.py": "deleted", "tests/other.py": "added"}


def test_a_renamed_folder_is_seen_although_the_upper_is_empty(baseline: Path) -> None:
    """The agent renames a folder; the kernel only notes from where."""
    change = capture(baseline, "mv tests checks")
    assert changed(change) == {"checks/test_cart.py": "renamed from tests/test_cart.py"}


def test_two_folders_that_changed_places_are_compared_in_full(baseline: Path) -> None:
    """The agent swaps two folders with equal names in them, so that nothing in the upper differs by name."""
    for folder, text in (("src", "a\n"), ("docs", "b\n")):
        (baseline / folder / "same").write_text(text)
    change = capture(baseline, "mv src x; mv docs src; mv x docs")
    assert changed(change)["src/same"] == "changed"
    assert changed(change)["docs/same"] == "changed"


@pytest.mark.parametrize("name", ["user.overlay.opaque", "user.overlay.redirect", "user.overlay.whiteout"])
def test_overlay_attributes_planted_by_the_agent_are_not_believed(baseline: Path, name: str) -> None:
    """The agent, without privilege, marks a folder as opaque or renamed, to make a walk look elsewhere."""
    plant = f"import os; os.setxattr('tests', '{name}', b'y'); os.setxattr('tests', 'user.overlay.origin', b'/src')"
    change = capture(baseline, f"echo '# weaker' >> tests/test_cart.py; python3 -c \"{plant}\"")
    assert changed(change) == {"tests/test_cart.py": "changed"}


def test_a_planted_redirect_can_only_make_the_comparison_more_thorough(baseline: Path) -> None:
    """Even with the kernel's own attribute in the upper, what counts is the merged view."""
    plant = "import os; os.mkdir('new'); os.setxattr('tests', 'trusted.overlay.redirect', b'/src')"
    script = f"echo '# weaker' >> tests/test_cart.py; python3 -c \"{plant}\" || true"
    assert changed(capture(baseline, script))["tests/test_cart.py"] == "changed"


def test_an_unprivileged_agent_cannot_set_the_kernels_attribute(baseline: Path) -> None:
    """Only the mount's owner may write trusted.*, so an agent cannot ask for a false comparison at all."""
    plant = "import os; os.setxattr('tests', 'trusted.overlay.redirect', b'/src')"
    script = f'echo x >> tests/test_cart.py; ! python3 -c "{plant}" 2>/dev/null'
    for path in [baseline, *baseline.rglob("*")]:
        path.chmod(0o777)
    change = capture(baseline, script, "setpriv", "--reuid=60700", "--clear-groups")
    assert changed(change) == {"tests/test_cart.py": "changed"}


def test_a_nested_repository_in_the_upper_is_named(baseline: Path) -> None:
    """The agent makes a repository in a folder of the baseline."""
    change = capture(baseline, "mkdir src/.git; echo x > src/.git/config")
    assert changed(change) == {}
    assert found(change) == {("nested_repository", "info", "src/.git")}


def test_an_emptied_folder_and_a_new_empty_folder_are_distinguished(baseline: Path) -> None:
    """A vanished folder and a new empty one are entries; a folder that lost its files is not."""
    change = capture(baseline, "rm -r docs; rm tests/*; mkdir -p new/empty")
    folders = {
        entry.path: entry.new is not None for entry in change.entries if entry not in change.file_entries
    }
    assert folders == {"docs": False, "new/empty": True}
