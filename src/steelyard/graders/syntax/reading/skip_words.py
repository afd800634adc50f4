"""The ways to switch a test off, by language. Tables only; each row names what it catches.

Names are of calls and attributes (`pytest.mark.skip`), markers are whole decorators, attributes, annotations
or comments without white space.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

regex = cache(re.compile)  # on first use: importing this costs nothing


class Row(NamedTuple):
    pattern: str
    conditional: bool = False
    only_if_old: bool = False  # of a test that was there before
    at_top: bool = False  # of the file, under no condition


def _row(pattern: str, **flags: bool) -> Row:
    return Row(pattern, **flags)


NAMES: dict[str, tuple[Row, ...]] = {
    "python": (
        _row(r"^(pytest\.)?mark\.(skip|xfail)$"),
        _row(r"^(pytest\.)?mark\.skipif$", conditional=True),
        _row(r"^(unittest\.(case\.)?|absltest\.)(skip|expectedFailure|SkipTest)$"),
        _row(r"^unittest\.(skipIf|skipUnless)$", conditional=True),
        _row(r"^pytest\.(skip|xfail)$|^(self|cls)\.skipTest$|^SkipTest$"),
        _row(r"^pytest\.importorskip$", conditional=True),  # of a module that does not exist: the whole file
        _row(r"^(pytest|sys|os)\._?exit$", at_top=True),
    ),
    "javascript": (
        _row(r"^(x(it|test|describe|context|specify)|pending)$"),
        _row(r"^(f(it|test|describe|context))$"),  # focus hides all the others
        _row(
            r"^(it|test|describe|context|suite|specify)(\.\w+)*\.(skip|todo|failing|fails|fixme|only)(\.|$)"
        ),
        _row(r"^(it|test|describe|suite)(\.\w+)*\.(skipIf|runIf)$", conditional=True),
        _row(r"^(this|t|ctx|context)\.(skip|todo)$"),
    ),
    "go": (_row(r"^\w+(\.T)?\.(Skip|Skipf|SkipNow)$"),),
    "rust": (),
    "java": (
        _row(
            r"^((Assume|Assumptions)\.)?assum(e|ing)(True|False|That|NotNull|NoException)$", conditional=True
        ),
    ),
    "ruby": (
        _row(r"^(skip|pending|x(it|describe|context|specify|example|scenario)|omit)$"),
        _row(r"^(f(it|describe|context|example)|focus)$"),
    ),
}
MARK = r"^(pytest\.)?mark\.(skip|skipif|xfail)$|^unittest\.(skip|skipIf|skipUnless)$"
# Functions of a conftest.py that choose what runs, or what its outcome is.
HOOKS = (
    r"^pytest_(collection_modifyitems|ignore_collect|collect_|pycollect_|itemcollected|runtest_|pyfunc_call)"
)
MARKERS: dict[str, tuple[Row, ...]] = {
    "python": (
        _row(r"^@(skip|expectedFailure)\b"),
        _row(r"^@(skipIf|skipUnless)\b", conditional=True),
        _row(r"^(\w+\.)?__test__=False"),
        _row(r"^collect_ignore(_glob)?\+?="),
    ),
    "javascript": (),
    "go": (
        _row(r"^//go:buildignore"),
        _row(r"^//(go:build|\+build)", conditional=True),
    ),
    "rust": (
        _row(r"^#\[ignore"),
        _row(r"^#\[cfg\((any\(\)|not\(all\(\)\)|not\(test\)|false)\)"),
        _row(r"^#\[cfg_attr\(.*ignore", conditional=True),
        _row(r"^#\[cfg\((?!test\))", conditional=True),
        _row(r"^#\[should_panic", only_if_old=True),
    ),
    "java": (
        _row(r"^@(\w+\.)*(Disabled|Ignore)\b(?!If|On)"),
        _row(r"^@(\w+\.)*(Disabled|Enabled)(If|On|For)\w*", conditional=True),
        _row(r"^@(\w+\.)*Test\(.*enabled=false"),
    ),
    "ruby": (),
}
# Options beside the title: `test("x", {skip: true}, ...)`, `it "x", skip: true do`, `it "x", :skip do`.
OPTION = r"(?<![\w.])(skip|todo|pending|xfail|focus|only)['\"]?(:|=>)(?!false|nil|undefined)|,:(skip|pending|focus)\b"

_FROM = r"(?s)^from\s+(pytest|unittest)(?:\.case)?\s+import\s+(.+)$"
_AS = r"\b(pytest|unittest)\s+as\s+(\w+)"


def import_aliases(statement: str) -> dict[str, str]:
    """`from pytest import skip as s, mark` -> {"s": "pytest.skip", "mark": "pytest.mark"}."""
    found = regex(_FROM).match(statement[:2000])
    if not found:
        return {alias: module for module, alias in regex(_AS).findall(statement[:2000])}
    names = [part.split() for part in found[2].strip("() \n").split(",") if part.strip()]
    return {words[-1]: f"{found[1]}.{words[0]}" for words in names}


# Any other language, line by line: the words that most test libraries use.
SKIP_LINE = (
    r"(?i)\b(skip|skipped|skipif|xfail|xit|xdescribe|disabled|todo_skip|pending|mark\.ignore)\b\s*[(\"'!:]"
    r"|@\s*(Ignore|Disabled|Skip|XFail)\b|\[\s*(Ignore|Skip)|\b(GTEST_SKIP|SKIP_TEST|BOOST_TEST_DISABLED)\b|\bDISABLED_"
    r"|\b(it|test|describe)\.(skip|only|todo)\b|#\[ignore|^\s*(skip|pending)\s*$|\bt\.Skip"
)
ASSERT_LINE = (
    r"(?i)\b(assert\w*|expect\w*|should\w*|require|verify\w*|refute\w*|must_\w+|check\w*|EXPECT_\w+|ASSERT_\w+|XCTAssert\w*)\b\s*[(!\s.{]"
    r"|\bt\.(Error|Errorf|Fatal|Fatalf)\("
)
COMMENT_LINE = r"^\s*(#(?!\[)|//|/\*|\*|--|;|%|\"\"\")"
