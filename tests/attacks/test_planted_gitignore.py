"""A repository that has `.steelyard/.gitignore` as a link: the first run must not write where the link leads."""

from __future__ import annotations

from pathlib import Path

from steelyard.evidence.folder.folder import HOME_FOLDER, RunFolder


def test_a_link_in_the_place_of_the_gitignore_is_not_followed(tmp_path: Path) -> None:
    home, target = tmp_path / HOME_FOLDER, tmp_path / "ignore-of-all-repositories"
    home.mkdir()
    (home / ".gitignore").symlink_to(target)
    RunFolder.create(home / "runs", "run-1")
    assert not target.exists()
    assert (home / ".gitignore").is_symlink()
