"""Whatever a record says is text on a page: it is escaped, and nothing in it acts."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.report.html.element import Markup, escape, join, tag, url, visible


class Reader(HTMLParser):
    """The texts, elements and attributes of a page, as a browser sees them."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.texts: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, name: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append(name)
        self.attributes += attributes

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_markup_in_a_text_is_escaped() -> None:
    assert tag("p", "<script>alert(1)</script>") == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_elements_nest_and_none_is_nothing() -> None:
    assert tag("ul", [tag("li", 1), None, tag("li", "b")]) == "<ul><li>1</li><li>b</li></ul>"
    assert join("a<", Markup("<br>"), None) == "a&lt;<br>"


def test_an_attribute_cannot_end_early() -> None:
    assert tag("a", href="/x", title='"><b') == '<a href="/x" title="&quot;&gt;&lt;b"></a>'


def test_a_true_attribute_is_a_flag_and_an_absent_one_is_left_out() -> None:
    assert tag("input", checked=True, disabled=False, value=None) == "<input checked>"
    assert tag("label", for_="x", aria_label="y") == '<label for="x" aria-label="y"></label>'


@pytest.mark.parametrize("name", ["onclick", "OnLoad", "style", "srcdoc"])
def test_attributes_that_run_code_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="attribute"):
        tag("p", **{name: "x"})


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        " javascript:x",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "\x01javascript:x",
    ],
)
def test_addresses_that_run_code_are_refused(address: str) -> None:
    with pytest.raises(ValueError, match="address"):
        tag("a", href=address)


@pytest.mark.parametrize("name", ["p onload=x", "", "p>", "1"])
def test_an_element_has_a_plain_name(name: str) -> None:
    with pytest.raises(ValueError, match="element"):
        tag(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("\udcff\ud800", "\\xff\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("one\ntwo\tthree\r\nfour", "one\ntwo\tthree\nfour"),
        ("é 漢字 ✓", "é 漢字 ✓"),
    ],
)
def test_characters_that_mislead_are_written_as_escapes(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_stays_one_text_and_can_be_sent(text: str, value: str) -> None:
    markup = tag("p", text, title=value)
    markup.encode()
    read = Reader(markup)
    assert read.elements == ["p"]
    assert "".join(read.texts) == visible(text).replace("\r", "\n") or "\r" in text
    assert [name for name, _ in read.attributes] == ["title"]


def test_an_address_quotes_its_parts_and_leaves_out_empty_values() -> None:
    assert (
        url("run", "a/b?c", q="x y", page=2, tag=None, kind=["a", "b"])
        == "/run/a%2Fb%3Fc?q=x+y&page=2&kind=a&kind=b"
    )
    assert url() == "/"
    assert url("run", "\udcff") == "/run/%FF"


def test_escape_makes_markup() -> None:
    assert isinstance(escape("x"), Markup)
    assert tag("p", escape("&")) == "<p>&amp;</p>"
