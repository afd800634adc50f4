"""Lines fit a width: words stay whole where they can, nothing is lost, and what is piped is not wrapped."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from steelyard.report.lines.wrapping import LEAST, hang, print_wrapped, wrap_words

NAME = "tests.test_discount.Discounts.test_half_a_cent_is_rounded"


def test_a_word_that_fits_on_the_next_line_stays_whole() -> None:
    assert wrap_words("graded tests changed: tests/test_pricing.py", 40) == [
        "graded tests changed:",
        "tests/test_pricing.py",
    ]


def test_a_word_longer_than_a_line_is_broken_behind_a_mark() -> None:
    assert wrap_words(NAME, 32) == ["tests.test_discount.Discounts.", "test_half_a_cent_is_rounded"]


def test_a_word_without_a_mark_is_broken_at_the_width() -> None:
    assert wrap_words("x" * 50, 20) == ["x" * 20, "x" * 20, "x" * 10]


def test_lines_after_the_first_are_indented_and_keep_their_style() -> None:
    line = hang(Text.assemble("  ", ("gate", "bold"), f" fail  {NAME}"), 46, 6)
    assert line.plain.split("\n") == ["  gate fail  tests.test_discount.Discounts.", f"      {NAME[30:]}"]
    assert [line.plain[one.start : one.end] for one in line.spans if one.style == "bold"] == ["gate"]


@given(st.text(alphabet="ab._/ é漢", max_size=200), st.integers(1, 60))
def test_every_line_fits_and_no_character_is_lost(text: str, width: int) -> None:
    lines = wrap_words(text, width)
    assert all(cell_len(line) <= max(LEAST, width) for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_what_is_piped_stays_on_one_line() -> None:
    for is_terminal, lines in ((True, 2), (False, 1)):
        out = io.StringIO()
        print_wrapped(Console(file=out, width=40, force_terminal=is_terminal), Text(NAME))
        assert len(out.getvalue().splitlines()) == lines
