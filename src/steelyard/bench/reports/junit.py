"""JUnit XML, as dozens of tools write it -> results.

    <testsuites>
      <testsuite name="pytest" tests="2" failures="1">          suites nest in some writers
        <testcase classname="tests.cart" name="adds" file="tests/cart.py"/>
        <testcase classname="tests.cart" name="removes"><failure message="2 != 3">...</failure></testcase>
      </testsuite>
    </testsuites>

A test is `classname::name`; where no class is given, its suite stands for it. Surefire's `flakyFailure` is a test that
passed when it was run again: that is not a pass. Entities, and a document type that declares anything, are refused:
no writer needs them. A suite that declares more tests or failures than it holds is broken.
"""

from __future__ import annotations

import re
from dataclasses import field
from xml.parsers import expat

from steelyard.bench.reports.base import (
    RERUN,
    BadReport,
    in_workspace,
    join_id,
    one_line,
    one_result,
    some,
    within_size,
)
from steelyard.bench.suite.reported import MAX_RESULTS, MAX_TEXT, WORST_FIRST, Result, ResultOutcome
from steelyard.deferred.data_class import dataclass

MAX_DEPTH = 100
# What a child of a test says about it.
_MARKS: dict[str, tuple[ResultOutcome, str]] = {
    "failure": ("failed", ""),
    "error": ("error", ""),
    "rerunFailure": ("failed", ""),
    "rerunError": ("error", ""),
    "flakyFailure": ("failed", RERUN),
    "flakyError": ("failed", RERUN),
    "skipped": ("skipped", ""),
    "disabled": ("skipped", ""),
    "ignored": ("skipped", ""),
    "warning": ("skipped", ""),  # PHPUnit: a test that could not be made
}
# What its `status` or `result` says where no child does; anything else says nothing.
_STATUS: dict[str, ResultOutcome] = {
    **dict.fromkeys(("fail", "failed", "failure"), "failed"),
    **dict.fromkeys(("error", "aborted", "timeout"), "error"),
    **dict.fromkeys(("notrun", "disabled", "skipped", "suppressed", "ignored", "pending", "todo"), "skipped"),
}
_EXCUSES = frozenset({"skipped", "disabled", "ignored", "warning"})
_AGAIN = frozenset({"rerunFailure", "rerunError", "flakyFailure", "flakyError"})
_SUITES = ("testsuite", "testsuites")
_ENCODING = re.compile(rb"<\?xml[^>]{0,100}encoding\s*=\s*[\"']([A-Za-z0-9._-]{1,40})")
# Expat reads single-byte encodings by itself, and none of these.
_MULTIBYTE = frozenset(
    [
        "shift_jis",
        "sjis",
        "windows-31j",
        "cp932",
        "euc-jp",
        "gbk",
        "gb2312",
        "gb18030",
        "big5",
        "euc-kr",
        "cp949",
        "iso-2022-jp",
    ]
)
_PATH = re.compile(r"[^\s:]{1,300}\.(?:bats|[cm]?[jt]sx?)")
_NOT_XML = bytes(set(range(32)) - {9, 10, 13})


@dataclass
class _Suite:
    name: str
    declared_tests: int
    declared_bad: int
    tests: int = 0
    bad: int = 0


@dataclass
class _Case:
    id: str
    file: str
    outcome: ResultOutcome
    detail: str = ""
    marked: bool = False


@dataclass
class _Reader:
    """What has been read so far, as expat's handlers see it."""

    results: list[Result] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    suites: list[_Suite] = field(default_factory=list)
    cases: list[_Case] = field(default_factory=list)
    text: list[str] | None = None  # of the mark that is open

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self.path and name not in _SUITES:
            raise BadReport(f"not JUnit XML: it begins with <{one_line(name)[:40]}>")
        if len(self.path) >= MAX_DEPTH:
            raise BadReport("elements nest too deep", self.results)
        parent = self.path[-1] if self.path else ""
        self.path.append(name)
        if name in _SUITES:
            self._suite(attributes)
        elif name == "testcase":
            self._case(attributes)
        elif name in _MARKS and parent in {"testcase", *_SUITES}:
            self._mark(name, attributes, in_case=parent == "testcase")

    def end(self, tag: str) -> None:
        del tag
        name = self.path.pop()
        if name in _SUITES:
            self._suite_ends()
        elif name == "testcase":
            self._case_ends()
        elif self.text is not None and name in _MARKS:
            if self.cases and not self.cases[-1].detail:
                self.cases[-1].detail = "".join(self.text).strip()
            self.text = None

    def characters(self, text: str) -> None:
        if self.text is not None and len(self.text) < MAX_TEXT:
            self.text.append(text[:MAX_TEXT])

    def _suite(self, attributes: dict[str, str]) -> None:
        bad = _count(attributes, "failures") + _count(attributes, "errors")
        # pytest counts the parts of a test with subtests as tests, and writes no element for them.
        tests = 0 if attributes.get("name") == "pytest" else _count(attributes, "tests")
        self.suites.append(_Suite(attributes.get("name", ""), tests, bad))

    def _case(self, attributes: dict[str, str]) -> None:
        if len(self.results) + len(self.cases) >= MAX_RESULTS:
            raise BadReport(f"the report has more than {MAX_RESULTS} tests", self.results)
        group = attributes.get("classname", attributes.get("class"))
        if group is None:
            group = self.suites[-1].name if self.suites else ""
        states = (attributes.get(name, "").lower() for name in ("status", "result"))
        outcome: ResultOutcome = next((_STATUS[word] for word in states if word in _STATUS), "passed")
        file = attributes.get("file") or attributes.get("filepath") or ""
        if not file and _PATH.fullmatch(group):  # bats and deno write the file where others write the class
            file = group
        self.cases.append(_Case(join_id(in_workspace(group), attributes.get("name")), file, outcome))
        for suite in self.suites:
            suite.tests += 1

    def _mark(self, name: str, attributes: dict[str, str], *, in_case: bool) -> None:
        outcome, why = _MARKS[name]
        if attributes.get("type", "").endswith("RiskyTestError"):  # PHPUnit: a test that asserted nothing
            outcome = "skipped"
        message = attributes.get("message", "")
        for suite in self.suites:
            suite.bad += name not in _EXCUSES
            suite.tests += name in _AGAIN  # surefire counts every try
        if not in_case:  # the suite itself: it could not be set up, or died
            suite_name = self.suites[-1].name if self.suites else ""
            if outcome != "skipped":
                self.results.append(one_result(suite_name or "(suite)", outcome, message))
            return
        case = self.cases[-1]
        if not case.marked or WORST_FIRST.index(outcome) < WORST_FIRST.index(case.outcome):
            case.outcome, case.marked = outcome, True
            case.detail = ": ".join(part for part in (why, message) if part)
        self.text = []

    def _case_ends(self) -> None:
        case = self.cases.pop()
        self.results.append(one_result(case.id, case.outcome, case.detail, case.file))

    def _suite_ends(self) -> None:
        suite = self.suites.pop()
        for what, declared, found in (
            ("tests", suite.declared_tests, suite.tests),
            ("failures and errors", suite.declared_bad, suite.bad),
        ):
            if declared > found:
                raise BadReport(f"a suite declares {declared} {what} and has {found}", self.results)


def parse_junit(data: bytes) -> list[Result]:
    """Every test of the report, in its order; an id may come twice. Raises BadReport."""
    return some(junit_cases(data))


def junit_cases(data: bytes) -> list[Result]:
    """The same, but none is no fault: one file of many may be empty."""
    reader = _Reader()
    parser = _parser(reader, data := within_size(data, b"<"))
    try:
        parser.Parse(_readable(data), True)
    except expat.ExpatError as error:
        raise BadReport(f"not well-formed XML: {one_line(error)}", reader.results) from None
    except (ValueError, LookupError) as error:  # an unknown encoding
        raise BadReport(f"unreadable XML: {one_line(error)}", reader.results) from None
    return reader.results


def _parser(reader: _Reader, data: bytes) -> expat.XMLParserType:
    parser = expat.ParserCreate("utf-8" if _encoding(data) in _MULTIBYTE else None)
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _doctype
    parser.EntityDeclHandler = _refuse
    parser.ExternalEntityRefHandler = _refuse
    return parser


def _doctype(name: str, system: str | None, public: str | None, internal: int) -> None:
    del name, system, public
    if internal:  # entities that explode, attributes that are added to every element
        raise BadReport("the XML declares a document type of its own")


def _refuse(*_: object) -> int:
    raise BadReport("the XML declares or uses an entity")


def _encoding(data: bytes) -> str:
    found = _ENCODING.search(data[:200])
    return found.group(1).decode().lower() if found else ""


def _readable(data: bytes) -> bytes:
    """Bytes that expat can read; control characters that tests print and writers forget to escape are dropped."""
    encoding = _encoding(data)
    if encoding in _MULTIBYTE:
        return data.decode(encoding, errors="replace").encode(errors="replace").translate(None, _NOT_XML)
    return (
        data
        if b"\0" in data[:4] or data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        else data.translate(None, _NOT_XML)
    )


def _count(attributes: dict[str, str], name: str) -> int:
    text = attributes.get(name, "").strip()
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else 0
