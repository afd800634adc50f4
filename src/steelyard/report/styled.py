"""A text with one style: all that a plain line needs, and what rich makes a text of where there are colours.

Rich takes as long to load as a trial's agent to start; a command whose output is piped prints plain lines without it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.text import Text

_NARROW = str.maketrans(dict.fromkeys("✓✗…", "x"))


class Styled(NamedTuple):
    """Also a part that `rich.text.Text.assemble` takes."""

    plain: str
    style: str = ""

    def __rich__(self) -> Text:
        from rich.text import Text  # noqa: PLC0415  # where there are colours

        return Text(self.plain, self.style)


def cell_len(text: str) -> int:
    """How many columns of a terminal a text takes; `rich.cells` is asked about letters of other scripts."""
    if is_simple(text):
        return len(text)
    from rich.cells import cell_len as rich_cell_len  # noqa: PLC0415

    return rich_cell_len(text)


def is_simple(text: str) -> bool:
    """Whether each character of it is one column wide."""
    known = text.translate(_NARROW)
    return known.isascii() and (known.isprintable() or not known)
