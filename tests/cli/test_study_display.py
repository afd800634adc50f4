"""What is printed while a study runs."""

from __future__ import annotations

import sys

import pytest

from steelyard.cli.console.study_display import StudyDisplay


def test_what_a_library_prints_is_not_among_the_results_of_a_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ray prints to stdout that a node died."""
    with StudyDisplay(as_json=True) as display:
        sys.stdout.write("(raylet) a node died\n")
        display.close()
        sys.stdout.write("{}\n")
    assert capsys.readouterr() == ("{}\n", "(raylet) a node died\n")
