"""Links of a change -> those that show a check its own files as if they were the work.

    out.txt -> tests/expected.txt              hidden, and written there on the bench only: `cmp` finds no difference
    out.txt -> a/expected.txt, a -> tests      the same, one link further
    /app/out -> /tests/expected.txt            of a whole system, where a verifier has its own
    /app/out -> /proc/self/root/tests/...      the kernel leads anywhere

Only links of the change and of the tree under it are followed; a link of an image that leads to the root is not known here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping

from steelyard.filesystem.tree import is_within

MOST_LINKS = 40  # as the kernel has it


def led_to(path: str, links: Mapping[str, str]) -> str | None:
    """What `path` comes to, by the root that both are relative to; None where the kernel would give up."""
    ahead, at, followed = deque(path.split("/")), list[str](), 0
    while ahead:
        name = ahead.popleft()
        if name in {"", "."}:
            continue
        if name == "..":
            at = at[:-1]
            continue
        target = links.get("/".join([*at, name]))
        if target is None:
            at.append(name)
            continue
        followed += 1
        if followed > MOST_LINKS:
            return None
        at = [] if target.startswith("/") else at
        ahead.extendleft(reversed(target.split("/")))
    return "/".join(at)


def shows_hidden(
    path: str, links: Mapping[str, str], hidden: Collection[str], baseline: Collection[str]
) -> bool:
    """Does it end at a hidden file, or at a folder that is there because of one?"""
    end = led_to(path, links)
    if end is None:
        return False
    if any(is_within(end, place) for place in hidden):
        return True
    above = any(is_within(place, end) for place in hidden) if end else False
    return above and not any(is_within(known, end) for known in baseline)
