"""A request -> the kind of content in it that the provider would fetch from an address, or nothing.

    messages    {"type": "image", "source": {"type": "url", ...}}, also in the result of a tool
    chat        {"type": "image_url", "image_url": {"url": "https://..."}}; data: is content of the request itself
    responses   {"type": "input_image", "image_url": "https://..."}, {"type": "input_file", "file_url": ...}
    generate    {"fileData": {"fileUri": ...}}, in either spelling

An agent without a network would read pages and pictures through them, and send out what it puts into an address. Only parts of messages
are looked at: arguments and schemas of tools may have the same keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LISTS = ("messages", "input", "contents", "system")
_NESTED = ("content", "parts", "output", "functionResponse", "function_response")
_FILES = ("fileData", "file_data")
_MOST_DEPTH = 12


def remote_content(data: Mapping[str, Any]) -> str:
    """What the first such part is called."""
    for name in _LISTS:
        for part in _parts(data.get(name), 0):
            if found := _fetch(part):
                return found
    return ""


def _parts(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, list):
        for one in value:
            yield from _parts(one, depth + 1)
    elif isinstance(value, dict):
        yield value
        for name in _NESTED:
            yield from _parts(value.get(name), depth + 1)


def _fetch(part: Mapping[str, Any]) -> str:
    source = part.get("source")
    if isinstance(source, dict) and source.get("type") == "url":
        return "a source of type url"
    image = part.get("image_url")
    address = image.get("url") if isinstance(image, dict) else image
    if isinstance(address, str) and not address.lstrip()[:5].lower().startswith("data:"):
        return "image_url"
    if isinstance(part.get("file_url"), str):
        return "file_url"
    return next((name for name in _FILES if isinstance(part.get(name), dict)), "")
