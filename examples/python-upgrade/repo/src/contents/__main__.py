import sys

from contents.headings import headings
from contents.links import broken


def main(arguments):
    lines = sys.stdin.read().splitlines()
    if arguments == ["--links"]:
        return show_broken(lines)
    if arguments:
        print("usage: python3 -m contents [--links]", file=sys.stderr)
        return 2
    for heading in headings(lines):
        print(f"{'  ' * (heading.level - 1)}- [{heading.title}](#{heading.anchor})")
    return 0


def show_broken(lines):
    wrong = list(broken(lines))
    for text, anchor, meant in wrong:
        print(f"[{text}](#{anchor}) leads nowhere" + (f"; perhaps #{meant}" if meant else ""))
    return 1 if wrong else 0


sys.exit(main(sys.argv[1:]))
