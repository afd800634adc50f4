"""The plot of weights: how long each bar is, and how much of it is filled."""

from __future__ import annotations

import re

from steelyard.report.html.weight_plot import WeightedScore, weight_plot


def widths(markup: str, class_: str) -> list[float]:
    return [float(width) for width in re.findall(rf'width="([0-9.]+)" height="16" class="{class_}"', markup)]


def test_a_bar_is_as_long_as_its_weight_and_filled_as_far_as_its_score() -> None:
    drawn = weight_plot(
        [
            WeightedScore("tests", 2, 0.5),
            WeightedScore("style", 1, 1.0),
            WeightedScore("docs", 1, None),
            WeightedScore("patch", 0, 1),
        ]
    )
    assert drawn is not None
    bars, filled = widths(drawn, "weight"), widths(drawn, "s1 fill")
    assert bars == [380, 190, 190]
    assert filled == [190, 190, 0]
    assert "weight 1, not decided" in drawn
    assert "patch" not in drawn


def test_there_is_no_plot_where_nothing_has_a_weight() -> None:
    assert weight_plot([WeightedScore("patch", 0, 1.0)]) is None


def test_a_name_is_text() -> None:
    assert "<script>" not in str(weight_plot([WeightedScore("<script>alert(1)</script>", 1, 1.0)]))
