r"""The bytes of a patch -> the patches that they may mean, as GNU patch reads them.

    ...last line               the end of the last line was cut off: it is added
    ... @@ -1,4 +1,4 @@ ...    blank context lines were cut off at the end, two at most: they are added
    --- a/x.py\r\n             the headers end in CRLF: every line does, and the CR is not part of the text

Nothing else is mended. Each form is applied exactly, so a line that was added here must be in the file.
"""

from __future__ import annotations

import re

_HUNK = re.compile(rb"^@@ -\d+(?:,(\d{1,18}))? \+\d+(?:,(\d{1,18}))? @@", re.MULTILINE)
_HEADER = re.compile(rb"^(?:diff --git |@@ -\d).*$", re.MULTILINE)
MOST_BLANK_LINES = 2  # that patch takes as cut off


def patch_forms(patch: bytes) -> tuple[bytes, ...]:
    """The forms to try, in order; a patch that has CRs in its headers is tried without them first."""
    headers = _HEADER.findall(patch)
    has_crs = bool(headers) and all(line.endswith(b"\r") for line in headers)
    texts = [patch.removesuffix(b"\r").replace(b"\r\n", b"\n"), patch] if has_crs else [patch]
    ended = [text if text.endswith(b"\n") or not text else text + b"\n" for text in texts]
    return tuple(dict.fromkeys(form for text in ended for form in (text, _complete(text))))


def _complete(patch: bytes) -> bytes:
    """With the blank context lines at its end, as many as the head of the last hunk says."""
    last: re.Match[bytes] | None = None
    for last in _HUNK.finditer(patch):  # noqa: B007  # the last of them
        pass
    if last is None:
        return patch
    old, new = (1 if part is None else int(part) for part in last.groups())
    for line in patch[last.end() :].split(b"\n")[1:-1]:
        if line[:1] not in (b" ", b"+", b"-", b"\\", b""):
            return patch
        old -= line[:1] in (b" ", b"-", b"")
        new -= line[:1] in (b" ", b"+", b"")
    return patch + b" \n" * old if old == new and 0 < old <= MOST_BLANK_LINES else patch
