import unittest

from contents.headings import headings
from contents.links import broken


def anchors(*lines):
    return [heading.anchor for heading in headings(lines)]


class Anchors(unittest.TestCase):
    def test_words_are_joined_by_hyphens(self):
        self.assertEqual(anchors("# Getting started", "## What is it, really?"), ["getting-started", "what-is-it-really"])

    def test_an_anchor_is_given_once(self):
        self.assertEqual(anchors("# Usage", "# Usage"), ["usage", "usage-2"])

    def test_code_has_no_headings(self):
        self.assertEqual(anchors("```", "# a comment", "```", "# Text"), ["text"])


class Links(unittest.TestCase):
    def test_a_link_that_leads_somewhere_is_not_broken(self):
        self.assertEqual(list(broken(["# Usage", "[see](#usage)"])), [])

    def test_what_was_meant_is_said(self):
        self.assertEqual(list(broken(["# Usage", "[see](#Usage)"])), [("see", "Usage", "usage")])


if __name__ == "__main__":
    unittest.main()
