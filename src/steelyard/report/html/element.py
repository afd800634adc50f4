r"""Values -> HTML, in which every text is escaped: `tag("p", "a < b", class_="why") == '<p class="why">a &lt; b</p>'`.

Only `tag` and `join` make `Markup`; any other string is text. In a text, characters that change how a page reads (control
characters, reading direction, invisible characters, bytes that are not UTF-8) become visible escapes such as `\x1b`.
Attributes that run code (`onclick`, `style`, `srcdoc`) and addresses outside http(s) and this site are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape as escape_markup
from typing import Any
from urllib.parse import quote, urlencode

# Control characters but tab and line end; soft hyphen, reading direction, invisible and tag characters; lone surrogates.
_MISLEADING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]"
)
_VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_ADDRESSES = frozenset({"href", "src", "action", "formaction", "poster", "cite", "data", "xlink:href"})
_SAFE_ADDRESS = re.compile(r"(?:https?://|[/?#])")
_REFUSED = frozenset({"style", "srcdoc", "ping"})


class Markup(str):
    """HTML that is escaped already."""

    __slots__ = ()


Child = Markup | str | int | float | None | Iterable["Child"]


def visible(text: str) -> str:
    r"""The text with every misleading character written as an escape; line ends are kept."""
    if text.isascii() and text.isprintable():
        return text
    return _MISLEADING.sub(_escape_code, text.replace("\r\n", "\n"))


def _escape_code(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escape(text: str) -> Markup:
    return Markup(escape_markup(visible(text), quote=True))


def join(*children: Child) -> Markup:
    """Children one after the other; None is nothing."""
    return Markup("".join(_pieces(children)))


def tag(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element. `class_` is `class`, `aria_label` is `aria-label`; True is a bare attribute, None and False are none."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"not the name of an element: {name!r}")
    opening = f"<{name}{''.join(_attribute(key, value) for key, value in attributes.items())}>"
    if name in _VOID:
        return Markup(opening)
    return Markup(f"{opening}{''.join(_pieces(children))}</{name}>")


def prose(text: str) -> Markup:
    """A sentence of ours: its first letter is a capital one, and `what is typed` is code."""
    return mark_code(f"{text[:1].upper()}{text[1:]}")


def mark_code(text: str) -> Markup:
    """`What is typed` is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # a backtick without another is a character
        return escape("`".join(parts))
    return join([tag("code", part) if at % 2 else part for at, part in enumerate(parts)])


def _pieces(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, str):
            yield escape(child)
        elif isinstance(child, int | float):
            yield escape(str(child))
        else:
            yield from _pieces(child)


def _attribute(key: str, value: Any) -> str:
    name = key.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if not _NAME.fullmatch(name) or name.lower().startswith("on") or name.lower() in _REFUSED:
        raise ValueError(f"not an attribute of ours: {name!r}")
    if value is True:
        return f" {name}"
    if name.lower() in _ADDRESSES and not _SAFE_ADDRESS.match(str(value)):
        raise ValueError(f"not an address of ours: {str(value)[:80]!r}")
    return f' {name}="{escape(str(value))}"'


def url(*parts: str, **query: Any) -> str:
    """An address on this site: `url("run", "a/b", q="x y") == "/run/a%2Fb?q=x+y"`; empty values are left out."""
    path = "/" + "/".join(quote(part, safe="", errors="surrogateescape") for part in parts)
    asked = {key.rstrip("_"): value for key, value in query.items() if value not in (None, "", [], ())}
    return f"{path}?{urlencode(asked, doseq=True, errors='surrogatepass')}" if asked else path
