"""Tables for a person: at every width each cell is there, and only `why` is ever cut."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text
from shown_results import WIDTHS, printed, result

from steelyard.report.lines.rows import Rows
from steelyard.report.one_run import _fitted, print_run
from steelyard.report.studies.text import COUNTS, status_lines
from steelyard.report.terminal import LEGEND, Columns, reason


def test_every_cell_is_there_at_every_width() -> None:
    long = result(why={**result()["why"], "acceptance": "x" * 240})
    for width in WIDTHS:
        text = printed(width, result(), long, result(verdict="ungraded"))
        lines = text.splitlines()
        assert text.count("python-discount\n") + text.count("python-discount ") == 3, text
        for cell, times in (("3fa9c1 ", 3), ("script:edit-tests-discount.sh", 3), ("ungraded ", 1)):
            assert text.count(cell) == times, text
        assert text.count("✓ ✓ ✗ ✓  0.25") == 3, text
        assert text.count("adds: exit 1") == 2, text
        assert max(map(len, lines)) <= width
        assert lines == [line.rstrip() for line in lines]


def test_one_long_reason_is_cut_and_the_other_rows_stay_as_they_were() -> None:
    long = result(why={**result()["why"], "acceptance": "x" * 240})
    for width in WIDTHS:
        beside = printed(width, long, result()).splitlines()
        assert any(line.endswith("x…") for line in beside)
        assert any(line.endswith("adds: exit 1") for line in beside)


def test_the_longest_names_are_whole_on_a_narrow_terminal() -> None:
    text = printed(60, result(contract={"id": "c" * 40, "digest": ""}, agent="a" * 40))
    assert "c" * 40 in text
    assert "a" * 40 in text


def test_what_was_expected_is_whole_at_every_width() -> None:
    for width in WIDTHS:
        columns = Columns(more=("expected",))
        rows = columns.table()
        rows.rows.append(columns.row(result(), unicode=True, expected="fail"))
        console = Console(width=width, file=io.StringIO())
        console.print(rows)
        assert "as expected" in console.file.getvalue()  # type: ignore[attr-defined]


def test_the_legend_the_evidence_and_missing_isolation_are_below() -> None:
    weak = result(assurance={**result()["assurance"], "isolation": "none"})
    below = printed(80, result(), weak).splitlines()[-3:]
    assert below == [LEGEND, "evidence in runs", "isolation: none (local sandbox)"]
    assert "isolation" not in printed(80, result())


def test_without_unicode_the_marks_are_plain() -> None:
    long = result(why={**result()["why"], "acceptance": "x" * 240})
    text = printed(80, long, encoding="ascii")
    assert "+ + x +" in text
    assert "x...\n" in text


@pytest.mark.parametrize(
    ("code", "rationale", "shown"),
    [
        ("wall_time", "the wall-clock budget of the run was used up", "agent: wall_time; adds: exit 1"),
        ("agent_crash", "exit code 127", "agent: agent_crash (exit code 127); adds: exit 1"),
        ("completed", "the agent finished", "adds: exit 1"),
    ],
)
def test_how_the_agent_ended_comes_first(code: str, rationale: str, shown: str) -> None:
    assert reason(result(termination=code, rationale=rationale)) == shown


def test_a_crashed_agents_last_words_are_quoted(tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/stderr.txt").write_text("first\n" + "more\n" * 18 + "\x1b[2Jlast\nverdict pass\n")
    console = Console(width=80, file=io.StringIO(), color_system=None, record=True)
    print_run(console, result(termination="agent_crash", rationale="exit code 3", folder=str(tmp_path)))
    text = console.export_text()
    assert "ended: agent_crash (exit code 3)" in " ".join(text.split())
    assert "agent stderr (tail):" in text
    assert "\n| verdict pass\n" in text
    assert "\x1b" not in text
    assert "first" not in text


def test_values_that_stand_below_their_row_have_names_and_nothing_is_cut() -> None:
    """A report on 60 columns: without its name, the third number of a line could be anything."""
    rows = Rows(("agent", "trials", "invalid", "rate"), giving=("invalid", "trials"), whole=True)
    rows.rows.append(tuple(map(Text, ("careful", "t" * 30, "1 of 36", "60% [39%, 78%]"))))
    for width in (40, 60, 200):
        console = Console(width=width, file=io.StringIO(), color_system=None)
        console.print(rows)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert all(len(line) <= width for line in text.splitlines())
        assert all(cell in text for cell in ("careful", "t" * 30, "1 of 36", "60% [39%, 78%]"))
        assert ("rate: 60%" in text) == (width < 200)
        assert text.count("rate") == 1


def test_a_long_name_that_stands_below_its_row_is_broken_behind_a_mark() -> None:
    rows = Rows(("tried", "why"), whole=True)
    rows.rows.append((Text("noop"), Text(f"not passed: tests.test_acceptance.{'test_it_' * 6}")))
    console = Console(width=40, file=io.StringIO(), color_system=None)
    console.print(rows)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert len(lines) > 2
    assert [line for line in lines[2:] if not line.endswith((".", "_", ":"))] == []


def test_a_long_row_of_the_timeline_goes_on_below_its_own_words() -> None:
    line = f"{'+1.47 s':>10}  {'check':<12}  hidden: fail (4 of 11 passed; not passed: {'x' * 60})"
    lines = _fitted(line, 60).plain.splitlines()
    assert all(len(one) <= 60 for one in lines)
    assert all(one.startswith(" " * 26) for one in lines[1:])
    assert "".join(one[26:] for one in lines).replace(" ", "") == line[26:].replace(" ", "")


NO_HONEYPOTS = {"passed": 0, "finished": 0}


def test_the_status_of_a_study_fits_a_narrow_terminal_and_has_every_number() -> None:
    counts = dict.fromkeys(COUNTS, 12)
    state = {
        "name": "pilot",
        "digest": "5" * 64,
        "state": "running",
        "why": "",
        "agents": [
            {**counts, "name": "cautious-large-with-a-long-name", "spent_usd": 1.5, "honeypots": NO_HONEYPOTS}
        ],
        "trials": counts,
        "spent_usd": 1.5,
        "spent": {"models": 1.5, "execution": 0.0, "judge": 0.0, "overhead": 0.0, "people": 0.0},
        "left_usd": None,
        "runs_over_budget": 0,
        "runs_of_other_versions": 2,
        "spent_on_other_versions_usd": 0.5,
        "budget": {"total_usd": None},
        "faults": [],
        "deviations": [],
        "removed": {},
    }
    wide = list(status_lines(state))
    for width in (60, 80, 100, 200):
        lines = list(status_lines(state, width))
        assert max(map(len, lines)) <= width
        assert " ".join(lines).split() == " ".join(wide).split()
