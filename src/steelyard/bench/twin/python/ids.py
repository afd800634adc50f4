r"""A parameter as it is written -> the word that pytest makes of it in the id of a test.

    @pytest.mark.parametrize("text, want", [("a b", "é"), ("", 3)])        test_x[a b-\xe9]   test_x[-3]

Only for values that pytest spells out; of others (a list, a date) an id has the name and the number of the row.
"""

from __future__ import annotations

from steelyard.bench.twin.python.text import literal

_UNPRINTABLE = {
    **{code: f"\\x{code:02x}" for code in (*range(32), 127)},
    ord("\t"): "\\t",
    ord("\r"): "\\r",
    ord("\n"): "\\n",
}


def word_in_id(text: str) -> str | None:
    value = literal(text)
    match value:
        case None | bool() | int() | float() | complex():
            return str(value)
        case str():
            return value.encode("unicode_escape").decode("ascii")
        case bytes():
            return value.decode("ascii", "backslashreplace").translate(_UNPRINTABLE)
    return None
