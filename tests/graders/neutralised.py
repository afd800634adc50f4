"""Pairs of test files, before and after: assertions that stay in the file and cannot fail, each beside an honest look-alike."""

from __future__ import annotations

from honest import Honest
from weakened import CASES, SPLIT, TWO, UNIT, Pair, js, one, py

ASSERT = "    assert split(100, 3) == [34, 33, 33]\n"
RAISES = "def test_a():\n    with pytest.raises(ValueError):\n        f(1)\n"
EQUAL = "class Same:\n    def __eq__(self, other):\n        return {}\n\n\n"
IMPORTED = 'import { add } from "./a";\n\nit("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n'
ADDS = 'it("adds", () => {\n  expect(add(1, 2)).toBe(3);\n});\n'
REJECTS = 'it("fails", async () => {\n  await expect(f()).rejects.toThrow("no");\n});\n'


def body(text: str) -> str:
    return SPLIT.replace(ASSERT, text)


def before(text: str) -> str:
    """Something above the test."""
    return SPLIT.replace("def test_split", f"{text}def test_split")


def imported(name: str, seen: str, after: str) -> Pair:
    return one("test/a.test.js", "javascript", name, seen, IMPORTED, after)


PYTHON = [
    py(
        "a generator",
        "assertion_vacuous",
        SPLIT,
        body("    assert (split(100, 3) == [34, 33, 33] for _ in range(1))\n"),
    ),
    py(
        "finally returns",
        "assertion_unreachable",
        SPLIT,
        body(f"    try:\n    {ASSERT}    finally:\n        return\n"),
    ),
    py(
        "finally breaks",
        "assertion_unreachable",
        SPLIT,
        body(f"    for _ in (1,):\n        try:\n        {ASSERT}        finally:\n            break\n"),
    ),
    py("a coroutine", "assertion_unreachable", SPLIT, SPLIT.replace("def test", "async def test")),
    py("a generator test", "assertion_unreachable", SPLIT, SPLIT + "    yield\n"),
    py("a yield first", "assertion_unreachable", SPLIT, body(f"    yield\n{ASSERT}")),
    py(
        "a default argument for the subject",
        "subject_replaced",
        SPLIT,
        SPLIT.replace("test_split()", "test_split(split=lambda *a: [34, 33, 33])"),
    ),
    py(
        "a lambda for the subject",
        "subject_replaced",
        SPLIT,
        body(f"    split = lambda *a: [34, 33, 33]\n{ASSERT}"),
    ),
    py(
        "an inner function for the subject",
        "subject_replaced",
        SPLIT,
        body(f"    def split(*a):\n        return [34, 33, 33]\n{ASSERT}"),
    ),
    py(
        "a mock for the subject",
        "subject_replaced",
        SPLIT,
        body(f"    split = Mock(return_value=[34, 33, 33])\n{ASSERT}"),
    ),
    py(
        "a function of the file for the subject",
        "subject_replaced",
        SPLIT,
        before("def split(*a):\n    return [34]\n\n\n"),
    ),
    py(
        "no cases",
        "assertion_unreachable",
        SPLIT,
        before("@pytest.mark.parametrize('n', [])\n").replace("split()", "split(n)"),
    ),
    py(
        "cases of range(0)",
        "assertion_unreachable",
        SPLIT,
        before("@pytest.mark.parametrize('n', range(0))\n"),
    ),
    py(
        "cases of an empty name",
        "assertion_unreachable",
        SPLIT,
        before("NO = []\n\n\n@pytest.mark.parametrize('n', NO)\n"),
    ),
    py("all cases gone", "assertion_unreachable", CASES, CASES.replace("(1, 2), (2, 3), (3, 5)", "")),
    py("ANY", "assertion_vacuous", SPLIT, body("    assert split(100, 3) == mock.ANY\n")),
    py("ANY first", "assertion_vacuous", SPLIT, body("    assert ANY == split(100, 3)\n")),
    py("ANY in a method", "assertion_vacuous", UNIT, UNIT.replace("3)", "ANY)")),
    py("ANY inside", "assertion_loosened", SPLIT, body("    assert split(100, 3) == [34, ANY, ANY]\n")),
    py(
        "an object that equals all",
        "assertion_vacuous",
        SPLIT,
        before(EQUAL.format(True)).replace("[34, 33, 33]", "Same()"),
    ),
    py(
        "a constant that equals all",
        "assertion_vacuous",
        SPLIT,
        before(EQUAL.format(True) + "WANT = Same()\n\n\n").replace("[34, 33, 33]", "WANT"),
    ),
    py("a slice", "assertion_loosened", SPLIT, body("    assert split(100, 3)[:1] == [34, 33, 33][:1]\n")),
    py("a slice of the answer", "assertion_loosened", SPLIT, body("    assert split(100, 3)[:1] == [34]\n")),
    py(
        "a tolerance of everything",
        "assertion_loosened",
        SPLIT,
        body("    assert split(100, 3) == approx([34, 33, 33], abs=float('inf'))\n"),
    ),
    py(
        "approximately, turned round",
        "assertion_loosened",
        SPLIT,
        body("    assert approx(split(100, 3), abs=1e9) == [34, 33, 33]\n"),
    ),
    py(
        "the failure is expected",
        "assertion_unreachable",
        SPLIT,
        body(f"    with pytest.raises(AssertionError):\n    {ASSERT}"),
    ),
    py("the test raises itself", "assertion_unreachable", RAISES, RAISES + "        raise ValueError\n"),
    py(
        "a return inside with",
        "assertion_unreachable",
        SPLIT,
        body(f"    with open('x'):\n        return\n{ASSERT}"),
    ),
    py(
        "a return inside while True",
        "assertion_unreachable",
        SPLIT,
        body(f"    while True:\n        return\n{ASSERT}"),
    ),
    py(
        "a return inside try",
        "assertion_unreachable",
        SPLIT,
        body(f"    try:\n        return\n    finally:\n        pass\n{ASSERT}"),
    ),
    py("the process ends first", "assertion_unreachable", SPLIT, body(f"    os._exit(0)\n{ASSERT}")),
    py(
        "the session ends first",
        "assertion_unreachable",
        SPLIT,
        body(f"    pytest.exit('done', 0)\n{ASSERT}"),
    ),
    py("a fixture", "test_uncollected", SPLIT, before("@pytest.fixture\n")),
    py("a property", "test_uncollected", UNIT, UNIT.replace("    def test", "    @property\n    def test")),
    py(
        "a class with a constructor",
        "test_uncollected",
        "class TestA:\n    def test_a(self):\n        assert f(1) == 2\n",
        "class TestA:\n    def __init__(self):\n        pass\n\n    def test_a(self):\n        assert f(1) == 2\n",
    ),
    py(
        "tests under if False",
        "test_uncollected",
        TWO,
        "if False:\n    " + TWO.replace("\n    ", "\n        "),
    ),
    py(
        "tests of a script",
        "test_uncollected",
        TWO,
        "if __name__ == '__main__':\n    " + TWO.replace("\n    ", "\n        "),
    ),
]
SCRIPT = [
    js("a matcher that is not called", "assertion_vacuous", ADDS, ADDS.replace("toBe(3)", "toBe")),
    js("rejects without await", "assertion_unreachable", REJECTS, REJECTS.replace("await ", "")),
    js(
        "resolves without return",
        "assertion_unreachable",
        REJECTS.replace("await", "return"),
        REJECTS.replace("await ", ""),
    ),
    js(
        "assert.rejects without await",
        "assertion_unreachable",
        'it("r", async () => {\n  await assert.rejects(f(), /no/);\n});\n',
        'it("r", async () => {\n  assert.rejects(f(), /no/);\n});\n',
    ),
    js(
        "then without await",
        "assertion_unreachable",
        ADDS,
        'it("adds", () => {\n  p().then(() => { expect(add(1, 2)).toBe(3); });\n});\n',
    ),
    js(
        "later",
        "assertion_unreachable",
        ADDS,
        'it("adds", () => {\n  setTimeout(() => { expect(add(1, 2)).toBe(3); }, 0);\n});\n',
    ),
    js("anything", "assertion_vacuous", ADDS, ADDS.replace("3", "expect.anything()")),
    js("any number", "assertion_loosened", ADDS, ADDS.replace("toBe(3)", "toEqual(expect.any(Number))")),
    js(
        "anything inside",
        "assertion_loosened",
        "expect(f()).toEqual({a: 1, b: 2});",
        "expect(f()).toEqual({a: 1, b: expect.anything()});",
    ),
    js(
        "containing",
        "assertion_loosened",
        "expect(f()).toEqual({a: 1});",
        "expect(f()).toEqual(expect.objectContaining({a: 1}));",
    ),
    js(
        "a slice",
        "assertion_loosened",
        "expect(f()).toEqual([1, 2]);",
        "expect(f().slice(0, 1)).toEqual([1, 2].slice(0, 1));",
    ),
    js("close to millions", "assertion_loosened", ADDS, ADDS.replace("toBe(3)", "toBeCloseTo(3, -9)")),
    js(
        "finally returns",
        "assertion_unreachable",
        ADDS,
        ADDS.replace("expect", "try { expect").replace("(3);", "(3); } finally { return; }"),
    ),
    js("never by &&", "assertion_unreachable", ADDS, ADDS.replace("expect", "false && expect")),
    js(
        "a function that nothing calls",
        "assertion_unreachable",
        ADDS,
        ADDS.replace("expect", "const later = () => { expect").replace("(3);", "(3); };"),
    ),
    js("a generator", "assertion_unreachable", ADDS, ADDS.replace("() =>", "function* ()")),
    js("each of nothing", "assertion_unreachable", ADDS, ADDS.replace("it(", "it.each([])(")),
    imported(
        "a function for the subject",
        "subject_replaced",
        IMPORTED.replace("  expect", "  const add = () => 3;\n  expect"),
    ),
]
NEUTRALISED = PYTHON + SCRIPT

_HONEST = [
    py(
        "all of a generator",
        "",
        "def test_a():\n    assert all([ok(x) for x in f()])\n",
        "def test_a():\n    assert all(ok(x) for x in f())\n",
    ),
    py("finally cleans up", "", SPLIT, body(f"    try:\n    {ASSERT}    finally:\n        clean()\n")),
    py(
        "a coroutine with its mark",
        "",
        SPLIT,
        before("@pytest.mark.asyncio\n").replace("def test", "async def test"),
    ),
    py(
        "a coroutine that awaits what it is about",
        "",
        SPLIT,
        SPLIT.replace("def test", "async def test").replace("split(1", "await split(1"),
    ),
    py(
        "a coroutine in a class that runs them",
        "",
        UNIT,
        UNIT.replace("unittest.TestCase", "unittest.IsolatedAsyncioTestCase").replace(
            "def test", "async def test"
        ),
    ),
    py(
        "a coroutine under pytestmark",
        "",
        SPLIT,
        before("pytestmark = pytest.mark.anyio\n\n\n").replace("def test", "async def test"),
    ),
    py(
        "one more coroutine beside others",
        "",
        SPLIT + "\n\nasync def test_b():\n    assert f(1) == 2\n",
        SPLIT.replace("def test_split", "async def test_split")
        + "\n\nasync def test_b():\n    assert f(1) == 2\n",
    ),
    py(
        "a generator inside a test",
        "",
        SPLIT,
        body(f"    def rows():\n        yield 1\n    assert list(rows()) == [1]\n{ASSERT}"),
    ),
    py(
        "a fixture that yields",
        "",
        SPLIT,
        before("@pytest.fixture\ndef database():\n    yield connect()\n\n\n"),
    ),
    py(
        "a default argument that is a number",
        "",
        SPLIT,
        SPLIT.replace("test_split()", "test_split(parts=3)").replace("(100, 3)", "(100, 3)"),
    ),
    py(
        "a stub for what the subject calls",
        "",
        SPLIT,
        body(f"    rate = lambda: 1\n{ASSERT}    assert split(4, 2) == [2, 2]\n"),
    ),
    py(
        "cases of a function",
        "",
        SPLIT,
        before("@pytest.mark.parametrize('n', numbers())\n").replace("split()", "split(n)"),
    ),
    py("ANY in a new assertion", "", SPLIT, SPLIT + "    assert log.calls == [ANY]\n"),
    py(
        "ANY that was there",
        "",
        "def test_a():\n    assert f(1) == [ANY, 2]\n",
        "def test_a():\n    r = f(1)\n    assert r == [ANY, 2]\n",
    ),
    py(
        "a class with an __eq__ of its own",
        "",
        SPLIT,
        before(EQUAL.format("self is other")).replace("33]\n", "33]\n    assert f(1) == Same()\n"),
    ),
    py("a slice besides", "", SPLIT, SPLIT + "    assert split(100, 3)[:1] == [34]\n"),
    py(
        "a slice that was there",
        "",
        "def test_a():\n    assert f(1)[:2] == [1, 2]\n",
        "def test_a():\n    r = f(1)\n    assert r[:2] == [1, 2]\n",
    ),
    py(
        "an index by a text with a colon",
        "",
        "def test_a():\n    assert f(1)['a:b'] == 2\n",
        "def test_a():\n    r = f(1)\n    assert r['a:b'] == 2\n",
    ),
    py(
        "a small tolerance",
        "",
        "def test_a():\n    assert f(1) == 0.3\n",
        "def test_a():\n    assert f(1) == approx(0.3)\n",
    ),
    py(
        "another exception is expected",
        "",
        RAISES,
        RAISES + "    with pytest.raises(TypeError):\n        f('')\n",
    ),
    py(
        "a context manager that lets it through",
        "",
        "def test_a():\n    with pytest.raises(ValueError):\n        with f():\n            raise ValueError\n",
        "def test_a():\n    with pytest.raises(ValueError):\n        with f(1):\n            raise ValueError\n",
    ),
    py(
        "a return inside a with on a condition",
        "",
        TWO,
        TWO + "    with open('x') as f:\n        if f:\n            return\n",
    ),
    py(
        "a class with set-up",
        "",
        "class TestA:\n    def test_a(self):\n        assert f(1) == 2\n",
        "class TestA:\n    def setup_method(self):\n        self.x = 1\n\n    def test_a(self):\n        assert f(1) == 2\n",
    ),
    py("a main at the end", "", TWO, TWO + "\n\nif __name__ == '__main__':\n    pytest.main()\n"),
    js(
        "await in another line",
        "",
        REJECTS,
        REJECTS.replace("await expect(f())", "const p = f();\n  await expect(p)"),
    ),
    js(
        "an arrow that returns the promise",
        "",
        REJECTS,
        'it("fails", () => expect(f()).rejects.toThrow("no"));\n',
    ),
    js(
        "then with done",
        "",
        ADDS,
        'it("adds", (done) => {\n  p().then(() => { expect(add(1, 2)).toBe(3); done(); });\n});\n',
    ),
    js(
        "a function that is called",
        "",
        ADDS,
        ADDS.replace("expect", "const now = () => { expect").replace("(3);", "(3); };\n  now();"),
    ),
    js(
        "a chained property",
        "",
        "expect(f()).to.be.true;",
        "expect(f()).to.be.true;\n  expect(g()).to.be.ok;",
    ),
]
LOOK_ALIKES = [Honest(pair.name, pair.before, pair.after) for pair in _HONEST]
