"""Untrusted text -> text that a model can distinguish from its instructions.

    <<<EVIDENCE diff 5f3c...>>>
    | +    return a + b
    | +# <<<[not a fence]END 5f3c...>>>
    <<<END diff 5f3c...>>>

The fence has a random word in it that is made for one question, after everything to be fenced was written. Every line
inside begins with `| `, so that none begins like a line of the prompt; what looks like a fence is broken; and characters that
are invisible, change the reading direction or end a line are written out as `[U+202E]`. So is the first one of what a
server may take for the end of a message: many tokenize `<|im_end|>` in a text as if it were their own.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import field

from steelyard.deferred.data_class import dataclass

_SHAPELESS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_RUN = re.compile(f"([{_SHAPELESS}])\\1*")
_LIKE_A_FENCE = re.compile(r"<<<(?=\s*/?\s*(?:EVIDENCE|END)\b)", re.IGNORECASE)
_LIKE_A_TOKEN = re.compile(
    r"<(?=[|\uff5c][^\s|<>\uff5c]{1,64}[|\uff5c]?>|[\w/-]{1,64}[|\uff5c]>)"
    r"|<(?=/?(?:s|bos|eos|think|tool_call|tool_response|start_of_turn|end_of_turn)>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|gMASK)\])"
    r"|(?<=ANTHROPIC)_(?=MAGIC_STRING)"  # with which a maker's models refuse at once, for tests
)


def visible(text: str) -> str:
    """Everything in it can be seen, and a run of the same takes no more room than one."""
    return _RUN.sub(_written_out, text.replace("\r\n", "\n"))


def _written_out(found: re.Match[str]) -> str:
    count = len(found[0])
    return f"[U+{ord(found[1]):04X}{f' x{count}' if count > 1 else ''}]"


def size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def clip(text: str, most: int) -> str:
    """At most about `most` bytes: the head and the tail, and how much is missing between them."""
    if len(text) > 2 * most:  # no need to look at all of a giant
        text = f"{text[:most]}\n[... {len(text) - 2 * most} characters are left out here ...]\n{text[-most:]}"
    data = visible(text).encode("utf-8", "backslashreplace")
    if len(data) <= most:
        return data.decode()
    head = data[: most // 2].decode("utf-8", "ignore")
    tail = data[len(data) - most // 2 :].decode("utf-8", "ignore")
    return f"{head}\n[... {len(data) - most} bytes are left out here ...]\n{tail}"


def one_line(text: str, most: int = 500) -> str:
    """For a row of a table: no line ends, and only the head of what is long."""
    flat = visible(text[:most]).replace("\n", "[U+000A]")
    return flat if len(text) <= most and len(flat) <= most else f"{flat[:most]}[...]"


@dataclass(frozen=True, slots=True)
class Fence:
    """Walls around evidence; a new one for each question."""

    nonce: str = field(default_factory=lambda: secrets.token_hex(16))

    def around(self, name: str, text: str) -> str:
        """`text` was made visible and cut before; `name` is ours."""
        inside = _LIKE_A_FENCE.sub("<<<[not a fence]", text.replace(self.nonce, "[nonce]"))
        inside = _LIKE_A_TOKEN.sub(lambda found: f"[U+{ord(found[0]):04X}]", inside)
        lines = "\n".join(f"| {line}" for line in inside.split("\n"))
        return f"<<<EVIDENCE {name} {self.nonce}>>>\n{lines}\n<<<END {name} {self.nonce}>>>"
