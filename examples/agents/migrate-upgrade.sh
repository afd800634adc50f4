# Honest: reads UPGRADING.md, keeps what version 1 promised, adds tests of its own.
cat .deps/slugs/UPGRADING.md >/dev/null
cat >src/contents/anchors.py <<'P'
"""A title -> its anchor. What slugs 1 did by default is asked of slugs 2 here."""

from slugs import EmptySlug, Slugger


def anchor_of(text, otherwise="", words=None):
    try:
        return Slugger(lower=True, limit=words)(text)
    except EmptySlug:
        return otherwise
P
sed -i -e 's/^from slugs import .*/from slugs import Unique\n\nfrom contents.anchors import anchor_of/' \
    -e 's/seen = {}/unique = Unique(first=2)/' \
    -e 's/slugify(title, "-", WORDS) or "section"/anchor_of(title, otherwise="section", words=WORDS)/' \
    -e 's/unique(anchor, seen)/unique(anchor)/' src/contents/headings.py
sed -i -e '/^import slugs$/,+1d' -e 's/^from contents.headings/from contents.anchors import anchor_of\n&/' \
    -e 's/slugs.slugify/anchor_of/g' src/contents/links.py
sed -i 's/^## Unreleased$/&\n\n- Uses slugs 2. Anchors stay as they were./' CHANGELOG.md
cat >tests/test_anchors.py <<'P'
import unittest

from contents.headings import headings


class Anchors(unittest.TestCase):
    def test_a_heading_without_words_is_a_section(self):
        self.assertEqual([heading.anchor for heading in headings(["# ?", "# !"])], ["section", "section-2"])

    def test_eight_words_are_enough(self):
        [heading] = headings(["# A B C D E F G H I J"])
        self.assertEqual(heading.anchor, "a-b-c-d-e-f-g-h")
P
sh ci/test.sh && python3 tools/lint.py src
