"""A document -> the links inside it that lead nowhere."""

import re

import slugs

from contents.headings import headings, prose

LINK = re.compile(r"\[([^\]]*)\]\(#([^)\s]*)\)")


def broken(lines):
    """(text, anchor, the anchor that was perhaps meant or None) of each link that leads nowhere."""
    lines = list(lines)
    anchors = {heading.anchor for heading in headings(lines)}
    for line in prose(lines):
        for text, anchor in LINK.findall(line):
            if anchor not in anchors:
                meant = slugs.slugify(anchor) or slugs.slugify(text)
                yield text, anchor, meant if meant in anchors else None
