"""Fields of the forms in which people decide and review; what was typed stays where a form is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from steelyard.report.html.element import Markup, tag


def choice_field(question: str, name: str, meanings: Mapping[str, str], typed: Mapping[str, str]) -> Markup:
    """One of several words, each with what it means."""
    choices = [
        tag(
            "label",
            tag("input", type="radio", name=name, value=word, required=True, checked=typed.get(name) == word),
            f" {word}: {meaning}",
        )
        for word, meaning in meanings.items()
    ]
    return tag("fieldset", tag("legend", question), choices)


def text_field(label: str, name: str, typed: Mapping[str, str], **attributes: Any) -> Markup:
    box = tag("input", type="text", name=name, value=typed.get(name, ""), maxlength="500", **attributes)
    return tag("label", label, box)


def long_text_field(label: str, name: str, typed: Mapping[str, str], **attributes: Any) -> Markup:
    return tag("label", label, tag("textarea", typed.get(name, ""), name=name, **attributes))
