"""Pairs of test files, before and after: what must be seen."""

from __future__ import annotations

from typing import NamedTuple

Files = dict[str, str]


class Pair(NamedTuple):
    name: str
    seen: str  # the id of the finding
    before: Files
    after: Files


def py(name: str, seen: str, before: str, after: str) -> Pair:
    return Pair(f"python: {name}", seen, {"tests/test_a.py": before}, {"tests/test_a.py": after})


def one(path: str, language: str, name: str, seen: str, before: str, after: str) -> Pair:  # noqa: PLR0913, PLR0917  # a row
    return Pair(f"{language}: {name}", seen, {path: before}, {path: after})


def js(name: str, seen: str, before: str, after: str) -> Pair:
    return one("test/a.test.js", "javascript", name, seen, _it(before), _it(after))


def ts(name: str, seen: str, before: str, after: str) -> Pair:
    return one("src/a.spec.ts", "typescript", name, seen, _it(before), _it(after))


def go(name: str, seen: str, before: str, after: str) -> Pair:
    return one("a_test.go", "go", name, seen, _go(before), _go(after))


def rust(name: str, seen: str, before: str, after: str) -> Pair:
    return one("src/lib.rs", "rust", name, seen, _rust(before), _rust(after))


def java(name: str, seen: str, before: str, after: str) -> Pair:
    return one("src/test/java/CartTest.java", "java", name, seen, _java(before), _java(after))


def ruby(name: str, seen: str, before: str, after: str) -> Pair:
    return one("test/cart_test.rb", "ruby", name, seen, before, after)


def _it(body: str) -> str:
    return body if "it(" in body or "test(" in body else f'it("adds", () => {{\n  {body}\n}});\n'


def _go(body: str) -> str:
    head = 'package cart\n\nimport "testing"\n\n'
    return head + (body if "func " in body else f"func TestAdd(t *testing.T) {{\n\t{body}\n}}\n")


def _rust(body: str) -> str:
    inner = body if "fn " in body else f"#[test]\nfn adds() {{\n    {body}\n}}\n"
    return f"pub fn add(a: i32, b: i32) -> i32 {{ a + b }}\n\n#[cfg(test)]\nmod tests {{\n    use super::*;\n    {inner}\n}}\n"


def _java(body: str) -> str:
    inner = body if "void " in body else f"@Test\n  void adds() {{\n    {body}\n  }}"
    return f"import org.junit.jupiter.api.Test;\n\nclass CartTest {{\n  {inner}\n}}\n"


SPLIT = "from money import split\n\n\ndef test_split():\n    assert split(100, 3) == [34, 33, 33]\n"
TWO = "def test_a():\n    assert f(1) == 2\n    assert f(2) == 3\n"
CASES = """import pytest

@pytest.mark.parametrize(("a", "b"), [(1, 2), (2, 3), (3, 5)])
def test_f(a, b):
    assert f(a) == b
"""
UNIT = """import unittest

class TestCart(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)
"""

PYTHON = [
    py("an assertion is removed", "assertion_removed", TWO, TWO.replace("    assert f(2) == 3\n", "")),
    py("a test is removed", "test_removed", SPLIT + "\n\ndef test_b():\n    assert g(7) == 8\n", SPLIT),
    py(
        "the body is emptied",
        "test_emptied",
        SPLIT,
        SPLIT.replace("assert split(100, 3) == [34, 33, 33]", "pass"),
    ),
    py(
        "a return comes first",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace("    assert", "    return\n    assert"),
    ),
    py(
        "a raise of nothing wrong comes first",
        "assertion_unreachable",
        TWO,
        TWO.replace("    assert f(2)", "    return None\n    assert f(2)"),
    ),
    py(
        "a return on a condition comes first",
        "assertion_conditional",
        SPLIT,
        SPLIT.replace("    assert", "    if not ready():\n        return\n    assert"),
    ),
    py(
        "under if False",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace("    assert", "    if False:\n        assert"),
    ),
    py(
        "under if 0", "assertion_unreachable", SPLIT, SPLIT.replace("    assert", "    if 0:\n        assert")
    ),
    py(
        "under a condition",
        "assertion_conditional",
        SPLIT,
        SPLIT.replace("    assert", "    if split:\n        assert"),
    ),
    py(
        "in a loop over nothing",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace("    assert", "    for _ in []:\n        assert"),
    ),
    py(
        "in an inner function that is never called",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace("    assert", "    def later():\n        assert"),
    ),
    py(
        "the failure is swallowed",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace(
            "    assert split(100, 3) == [34, 33, 33]",
            "    try:\n        assert split(100, 3) == [34, 33, 33]\n    except Exception:\n        pass",
        ),
    ),
    py(
        "the failure is swallowed by a bare except",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace(
            "    assert split(100, 3) == [34, 33, 33]",
            "    try:\n        assert split(100, 3) == [34, 33, 33]\n    except:\n        print('flaky')",
        ),
    ),
    py(
        "the failure is suppressed",
        "assertion_unreachable",
        SPLIT,
        SPLIT.replace("    assert", "    with contextlib.suppress(AssertionError):\n        assert"),
    ),
    py(
        "the expected exception is broadened",
        "assertion_loosened",
        "def test_a():\n    with pytest.raises(ValueError):\n        f(0)\n",
        "def test_a():\n    with pytest.raises(Exception):\n        f(0)\n",
    ),
    py(
        "one more exception will do",
        "assertion_loosened",
        "def test_a():\n    with pytest.raises(ValueError):\n        f(0)\n",
        "def test_a():\n    with pytest.raises((ValueError, TypeError)):\n        f(0)\n",
    ),
    py(
        "the message no longer matters",
        "assertion_loosened",
        "def test_a():\n    with pytest.raises(ValueError, match='zero'):\n        f(0)\n",
        "def test_a():\n    with pytest.raises(ValueError):\n        f(0)\n",
    ),
    py(
        "no exception is expected any more",
        "assertion_removed",
        "def test_a():\n    with pytest.raises(ValueError):\n        f(0)\n",
        "def test_a():\n    try:\n        f(0)\n    except ValueError:\n        pass\n",
    ),
    py("assert True", "assertion_vacuous", SPLIT, SPLIT.replace("split(100, 3) == [34, 33, 33]", "True")),
    py("or True", "assertion_vacuous", SPLIT, SPLIT.replace("[34, 33, 33]", "[34, 33, 33] or True")),
    py(
        "a tuple is always true",
        "assertion_vacuous",
        SPLIT,
        SPLIT.replace("split(100, 3) == [34, 33, 33]", "(split(100, 3) == [34, 33, 33], 'splits')"),
    ),
    py("held against itself", "assertion_loosened", SPLIT, SPLIT.replace("[34, 33, 33]", "split(100, 3)")),
    py(
        "held against what it computes",
        "assertion_loosened",
        SPLIT,
        SPLIT.replace("== [34, 33, 33]", "== list(split(100, 3))"),
    ),
    py(
        "equality becomes membership",
        "assertion_loosened",
        SPLIT,
        SPLIT.replace("== [34, 33, 33]", "in ([34, 33, 33], [33, 33, 33])"),
    ),
    py("equality becomes an order", "assertion_loosened", SPLIT, SPLIT.replace("== [34, 33, 33]", ">= [33]")),
    py("equality becomes inequality", "assertion_loosened", SPLIT, SPLIT.replace("== [34, 33, 33]", "!= []")),
    py(
        "equality becomes is not None",
        "assertion_loosened",
        SPLIT,
        SPLIT.replace("== [34, 33, 33]", "is not None"),
    ),
    py("equality becomes truth", "assertion_loosened", SPLIT, SPLIT.replace(" == [34, 33, 33]", "")),
    py(
        "equality becomes truth under another name",
        "assertion_loosened",
        "def test_a():\n    result = f(1)\n    assert result == 3\n",
        "def test_a():\n    value = f(1)\n    assert value\n",
    ),
    py(
        "equality becomes a type",
        "assertion_loosened",
        SPLIT,
        SPLIT.replace("split(100, 3) == [34, 33, 33]", "isinstance(split(100, 3), list)"),
    ),
    py(
        "another alternative will do",
        "assertion_loosened",
        "def test_a():\n    assert f(1) == 2\n",
        "def test_a():\n    assert f(1) == 2 or f(1) is None\n",
    ),
    py(
        "the expected value is the bug's",
        "expected_changed",
        SPLIT,
        SPLIT.replace("[34, 33, 33]", "[33, 33, 33]"),
    ),
    py(
        "the expected value is the bug's, by name",
        "expected_changed",
        "def test_a():\n    expected = 3\n    assert f(1) == expected\n",
        "def test_a():\n    expected = 2\n    assert f(1) == expected\n",
    ),
    py(
        "a bound is lowered",
        "expected_changed",
        "def test_a():\n    assert f(1) >= 10\n",
        "def test_a():\n    assert f(1) >= 1\n",
    ),
    py(
        "a length that is always right",
        "assertion_vacuous",
        "def test_a():\n    assert len(f(1)) == 3\n",
        "def test_a():\n    assert len(f(1)) >= 0\n",
    ),
    py(
        "the tolerance is widened",
        "tolerance_widened",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, abs=1e-6)\n",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, abs=0.5)\n",
    ),
    py(
        "a tolerance appears",
        "tolerance_widened",
        "def test_a():\n    assert f(1) == pytest.approx(0.3)\n",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, rel=0.5)\n",
    ),
    py(
        "equality becomes roughly",
        "assertion_loosened",
        "def test_a():\n    assert f(1) == 0.3\n",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, abs=1)\n",
    ),
    py(
        "fewer places",
        "tolerance_widened",
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertAlmostEqual(mean(), 0.5, places=6)"),
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertAlmostEqual(mean(), 0.5, places=1)"),
    ),
    py(
        "a bigger delta",
        "tolerance_widened",
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertAlmostEqual(mean(), 0.5, delta=0.01)"),
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertAlmostEqual(mean(), 0.5, delta=10)"),
    ),
    py(
        "assertEqual becomes assertTrue",
        "assertion_loosened",
        UNIT,
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertTrue(total([1, 2]))"),
    ),
    py(
        "assertEqual becomes assertTrue with a message",
        "assertion_loosened",
        UNIT,
        UNIT.replace("assertEqual(", "assertTrue("),
    ),
    py(
        "assertEqual becomes assertIn",
        "assertion_loosened",
        UNIT,
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertIn(total([1, 2]), [2, 3])"),
    ),
    py("assertEqual of the same", "assertion_loosened", UNIT, UNIT.replace("3)", "total([1, 2]))")),
    py("a case is removed", "case_removed", CASES, CASES.replace(", (3, 5)", "")),
    py("a case expects the bug", "expected_changed", CASES, CASES.replace("(3, 5)", "(3, 4)")),
    py(
        "a case is removed from a constant",
        "case_removed",
        "CASES = [(1, 2), (2, 3), (3, 5)]\n\ndef test_f():\n    for a, b in CASES:\n        assert f(a) == b\n",
        "CASES = [(1, 2), (2, 3)]\n\ndef test_f():\n    for a, b in CASES:\n        assert f(a) == b\n",
    ),
    py(
        "renamed with an underscore",
        "test_uncollected",
        SPLIT,
        SPLIT.replace("def test_split", "def _test_split"),
    ),
    py("renamed to a check", "test_uncollected", SPLIT, SPLIT.replace("def test_split", "def check_split")),
    py(
        "the class is no longer collected",
        "test_uncollected",
        "class TestA:\n    def test_a(self):\n        assert f(1) == 2\n",
        "class A:\n    def test_a(self):\n        assert f(1) == 2\n",
    ),
    py(
        "the helper asserts less",
        "assertion_loosened",
        "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n",
        "def check(a, b):\n    assert f(a)\n\ndef test_a():\n    check(1, 2)\n",
    ),
    py(
        "the helper asserts nothing",
        "assertion_removed",
        "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n",
        "def check(a, b):\n    print(a, b)\n\ndef test_a():\n    check(1, 2)\n",
    ),
    py(
        "the mock was called somehow",
        "assertion_loosened",
        "def test_a(mailer):\n    send()\n    mailer.assert_called_once_with('ann')\n",
        "def test_a(mailer):\n    send()\n    mailer.assert_called()\n",
    ),
    py(
        "another test is added for the one removed",
        "test_removed",
        SPLIT,
        "def test_other():\n    assert add(0, 0) == 0\n",
    ),
    Pair("python: a test file is deleted", "test_removed", {"tests/test_a.py": SPLIT}, {}),
    Pair(
        "python: a test file is moved out of sight",
        "test_uncollected",
        {"tests/test_a.py": SPLIT},
        {"tests/money_checks.py": SPLIT},
    ),
    Pair(
        "python: one of two moved tests is lost",
        "test_removed",
        {"tests/test_a.py": SPLIT + "\n\ndef test_b():\n    assert g(7) == 8\n"},
        {"tests/test_b.py": SPLIT},
    ),
]

OTHERS = [
    js(
        "a response is no longer checked",
        "assertion_removed",
        "get('/').expect('Vary', 'x').expect(200, done);",
        "get('/').expect(200, done);",
    ),
    js(
        "another response is expected",
        "expected_changed",
        "get('/').expect(200, done);",
        "get('/').expect(500, done);",
    ),
    py(
        "another word is expected in it",
        "expected_changed",
        "def test_a():\n    assert 'ok' in f(1)\n",
        "def test_a():\n    assert 'o' in f(1)\n",
    ),
    js(
        "toEqual becomes toBeDefined",
        "assertion_loosened",
        "expect(add(1, 2)).toEqual(3);",
        "expect(add(1, 2)).toBeDefined();",
    ),
    js(
        "toBe becomes toBeTruthy",
        "assertion_loosened",
        "expect(add(1, 2)).toBe(3);",
        "expect(add(1, 2)).toBeTruthy();",
    ),
    js(
        "expect(true).toBe(true)",
        "assertion_vacuous",
        "expect(add(1, 2)).toBe(3);",
        "expect(true).toBe(true);",
    ),
    js(
        "the expected value is the bug's",
        "expected_changed",
        "expect(add(1, 2)).toBe(3);",
        "expect(add(1, 2)).toBe(4);",
    ),
    js(
        "fewer digits",
        "tolerance_widened",
        "expect(mean()).toBeCloseTo(0.5, 6);",
        "expect(mean()).toBeCloseTo(0.5, 1);",
    ),
    js(
        "any error will do",
        "assertion_loosened",
        "expect(() => add()).toThrow(RangeError);",
        "expect(() => add()).toThrow();",
    ),
    js(
        "the failure is swallowed",
        "assertion_unreachable",
        "expect(add(1, 2)).toBe(3);",
        "try { expect(add(1, 2)).toBe(3); } catch (e) {}",
    ),
    js(
        "a return comes first",
        "assertion_unreachable",
        "expect(add(1, 2)).toBe(3);",
        "return;\n  expect(add(1, 2)).toBe(3);",
    ),
    js(
        "strictEqual becomes ok",
        "assertion_loosened",
        "assert.strictEqual(add(1, 2), 3);",
        "assert.ok(add(1, 2));",
    ),
    js(
        "an assertion is removed",
        "assertion_removed",
        "expect(add(1, 2)).toBe(3);\n  expect(add(2, 2)).toBe(4);",
        "expect(add(1, 2)).toBe(3);",
    ),
    js(
        "a test is removed",
        "test_removed",
        'it("a", () => { expect(f(1)).toBe(2); });\nit("b", () => { expect(g(3)).toBe(4); });\n',
        'it("a", () => { expect(f(1)).toBe(2); });\n',
    ),
    js(
        "a case is removed",
        "case_removed",
        'test.each([[1, 2], [2, 3]])("f %s", (a, b) => { expect(f(a)).toBe(b); });\n',
        'test.each([[1, 2]])("f %s", (a, b) => { expect(f(a)).toBe(b); });\n',
    ),
    js(
        "equal becomes exist",
        "assertion_loosened",
        "expect(add(1, 2)).to.equal(3);",
        "expect(add(1, 2)).to.exist;",
    ),
    js(
        "the call is no longer checked",
        "assertion_loosened",
        "expect(send).toHaveBeenCalledWith('ann');",
        "expect(send).toHaveBeenCalled();",
    ),
    ts(
        "toEqual becomes toBeTruthy",
        "assertion_loosened",
        "const r: number = add(1, 2);\n  expect(r).toEqual(3);",
        "const r: number = add(1, 2);\n  expect(r).toBeTruthy();",
    ),
    ts(
        "the expected value is the bug's",
        "expected_changed",
        "expect(add(1, 2) as number).toEqual(3);",
        "expect(add(1, 2) as number).toEqual(4);",
    ),
    ts(
        "under if false",
        "assertion_unreachable",
        "expect(add(1, 2)).toBe(3);",
        "if (false) { expect(add(1, 2)).toBe(3); }",
    ),
    go(
        "the expected value is the bug's",
        "expected_changed",
        'if got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}',
        'if got := Add(1, 2); got != 4 {\n\t\tt.Errorf("got %d", got)\n\t}',
    ),
    go(
        "an assertion is removed",
        "assertion_removed",
        "got, err := Add(1, 2)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\tif got != 3 {\n\t\tt.Error(got)\n\t}",
        "got, err := Add(1, 2)\n\tif err != nil {\n\t\tt.Fatal(err)\n\t}\n\t_ = got",
    ),
    go(
        "an error is only logged",
        "assertion_removed",
        'if Add(1, 2) != 3 {\n\t\tt.Error("wrong")\n\t}',
        'if Add(1, 2) != 3 {\n\t\tt.Log("wrong")\n\t}',
    ),
    go(
        "Equal becomes NotNil",
        "assertion_loosened",
        "assert.Equal(t, 3, Add(1, 2))",
        "assert.NotNil(t, Add(1, 2))",
    ),
    go(
        "a case is removed",
        "case_removed",
        "for _, tt := range []struct{ a, want int }{{1, 2}, {2, 3}} {\n\t\tif F(tt.a) != tt.want {\n\t\t\tt.Error()\n\t\t}\n\t}",
        "for _, tt := range []struct{ a, want int }{{1, 2}} {\n\t\tif F(tt.a) != tt.want {\n\t\t\tt.Error()\n\t\t}\n\t}",
    ),
    go(
        "renamed so that go test does not run it",
        "test_uncollected",
        "assert.Equal(t, 3, Add(1, 2))",
        "func testAdd(t *testing.T) {\n\tassert.Equal(t, 3, Add(1, 2))\n}\n",
    ),
    go(
        "a return comes first",
        "assertion_unreachable",
        "assert.Equal(t, 3, Add(1, 2))",
        "return\n\tassert.Equal(t, 3, Add(1, 2))",
    ),
    rust(
        "assert_eq becomes assert",
        "assertion_loosened",
        "assert_eq!(add(1, 2), 3);",
        "assert!(add(1, 2) > 0);",
    ),
    rust(
        "the expected value is the bug's",
        "expected_changed",
        "assert_eq!(add(1, 2), 3);",
        "assert_eq!(add(1, 2), 4);",
    ),
    rust("assert true", "assertion_vacuous", "assert_eq!(add(1, 2), 3);", "assert!(true);"),
    rust(
        "an assertion is removed",
        "assertion_removed",
        "assert_eq!(add(1, 2), 3);\n    assert_eq!(add(2, 2), 4);",
        "assert_eq!(add(1, 2), 3);",
    ),
    rust(
        "the attribute is removed",
        "test_uncollected",
        "assert_eq!(add(1, 2), 3);",
        "fn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
    ),
    rust(
        "a return comes first",
        "assertion_unreachable",
        "assert_eq!(add(1, 2), 3);",
        "return;\n    assert_eq!(add(1, 2), 3);",
    ),
    java(
        "assertEquals becomes assertNotNull",
        "assertion_loosened",
        "assertEquals(3, add(1, 2));",
        "assertNotNull(add(1, 2));",
    ),
    java(
        "the expected value is the bug's",
        "expected_changed",
        "assertEquals(3, add(1, 2));",
        "assertEquals(4, add(1, 2));",
    ),
    java(
        "isEqualTo becomes isNotNull",
        "assertion_loosened",
        "assertThat(add(1, 2)).isEqualTo(3);",
        "assertThat(add(1, 2)).isNotNull();",
    ),
    java(
        "a wider delta",
        "tolerance_widened",
        "assertEquals(0.5, mean(), 0.001);",
        "assertEquals(0.5, mean(), 1.0);",
    ),
    java(
        "any exception will do",
        "assertion_loosened",
        "assertThrows(IllegalArgumentException.class, () -> add(1));",
        "assertThrows(Exception.class, () -> add(1));",
    ),
    java(
        "the failure is swallowed",
        "assertion_unreachable",
        "assertEquals(3, add(1, 2));",
        "try { assertEquals(3, add(1, 2)); } catch (AssertionError e) { }",
    ),
    java(
        "the annotation is removed",
        "test_uncollected",
        "assertEquals(3, add(1, 2));",
        "void adds() {\n    assertEquals(3, add(1, 2));\n  }",
    ),
    java(
        "a case is removed",
        "case_removed",
        '@ParameterizedTest\n  @CsvSource({"1,2", "2,3"})\n  void adds(int a, int b) {\n    assertEquals(b, f(a));\n  }',
        '@ParameterizedTest\n  @CsvSource({"1,2"})\n  void adds(int a, int b) {\n    assertEquals(b, f(a));\n  }',
    ),
    ruby(
        "assert_equal becomes refute_nil",
        "assertion_loosened",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        "class CartTest < Minitest::Test\n  def test_add\n    refute_nil add(1, 2)\n  end\nend\n",
    ),
    ruby(
        "eq becomes be_truthy",
        "assertion_loosened",
        'describe "cart" do\n  it "adds" do\n    expect(add(1, 2)).to eq(3)\n  end\nend\n',
        'describe "cart" do\n  it "adds" do\n    expect(add(1, 2)).to be_truthy\n  end\nend\n',
    ),
    ruby(
        "the expected value is the bug's",
        "expected_changed",
        'it "adds" do\n  expect(add(1, 2)).to eq(3)\nend\n',
        'it "adds" do\n  expect(add(1, 2)).to eq(4)\nend\n',
    ),
    ruby(
        "the failure is rescued",
        "assertion_unreachable",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        "class CartTest < Minitest::Test\n  def test_add\n    begin\n      assert_equal 3, add(1, 2)\n    rescue Exception\n    end\n  end\nend\n",
    ),
    ruby(
        "a method that never runs",
        "test_uncollected",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        "class CartTest < Minitest::Test\n  def check_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
    ),
    one(
        "tests/cart.bats",
        "bats",
        "a line that asserts is removed",
        "assertion_removed",
        '@test "adds" {\n  assert_equal "$(add 1 2)" 3\n  assert_success\n}\n',
        '@test "adds" {\n  assert_success\n}\n',
    ),
    one(
        "CartTests.swift",
        "swift",
        "a line that asserts is removed",
        "assertion_removed",
        "func testAdd() {\n  XCTAssertEqual(add(1, 2), 3)\n}\n",
        "func testAdd() {\n}\n",
    ),
    one(
        "tests/test_a.py",
        "broken python",
        "a line that asserts is removed",
        "assertion_removed",
        TWO,
        "def test_a(:\n    assert f(1) == 2\n",
    ),
]

WEAKENED = [*PYTHON, *OTHERS]
