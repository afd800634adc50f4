"""Pairs of test files, before and after: honest work that must not be called weaker."""

from __future__ import annotations

from typing import NamedTuple

from weakened import CASES, SPLIT, TWO, UNIT, Files, Pair, go, java, js, one, py, ruby, rust, ts


class Honest(NamedTuple):
    name: str
    before: Files
    after: Files


COPIES = "".join(f"def test_{n}():\n    assert f({n}) == {n + 1}\n\n\n" for n in (1, 2, 3))

PYTHON: list[Pair | Honest] = [
    py(
        "added blank lines and comments",
        "",
        TWO,
        TWO.replace("    assert f(2)", "\n    # and two\n\n    assert f(2)"),
    ),
    py(
        "other quotes",
        "",
        'def test_a():\n    assert f("a") == "b"\n',
        "def test_a():\n    assert f('a') == 'b'\n",
    ),
    py(
        "wrapped over lines",
        "",
        SPLIT,
        SPLIT.replace(
            "split(100, 3) == [34, 33, 33]",
            "split(\n        100,\n        3,\n    ) == [\n        34, 33, 33,\n    ]",
        ),
    ),
    py(
        "redundant parentheses",
        "",
        SPLIT,
        SPLIT.replace("split(100, 3) == [34, 33, 33]", "(split(100, 3) == [34, 33, 33])"),
    ),
    py("a renamed test", "", SPLIT, SPLIT.replace("test_split", "test_remainder_goes_first")),
    py(
        "a renamed test with one more assertion",
        "",
        SPLIT,
        SPLIT.replace("test_split", "test_remainder") + "    assert split(4, 2) == [2, 2]\n",
    ),
    py(
        "a renamed variable",
        "",
        "def test_a():\n    r = f(1)\n    assert r == 2\n",
        "def test_a():\n    result = f(1)\n    assert result == 2\n",
    ),
    py(
        "a variable written out",
        "",
        "def test_a():\n    r = f(1)\n    assert r == 2\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    py(
        "tests in another order",
        "",
        COPIES,
        "".join(f"def test_{n}():\n    assert f({n}) == {n + 1}\n\n\n" for n in (3, 1, 2)),
    ),
    py("an added test", "", SPLIT, SPLIT + "\n\ndef test_even():\n    assert split(4, 2) == [2, 2]\n"),
    py("an added assertion", "", SPLIT, SPLIT + "    assert split(4, 2) == [2, 2]\n"),
    py("an added case", "", CASES, CASES.replace("(3, 5)]", "(3, 5), (4, 8)]")),
    py("cases with names", "", CASES, CASES.replace("(3, 5)", 'pytest.param(3, 5, id="three")')),
    py("type hints", "", CASES, CASES.replace("def test_f(a, b):", "def test_f(a: int, b: int) -> None:")),
    py(
        "imports",
        "",
        SPLIT,
        SPLIT.replace("from money import split", "import os\n\nfrom shop.money import split"),
    ),
    py("a message", "", SPLIT, SPLIT.replace("33]", '33], "the first gets more"')),
    py(
        "three copies in a table",
        "",
        COPIES,
        "import pytest\n\n@pytest.mark.parametrize(('a', 'b'), [(1, 2), (2, 3), (3, 4)])\ndef test_f(a, b):\n    assert f(a) == b\n",
    ),
    py(
        "three copies in a loop",
        "",
        COPIES,
        "def test_f():\n    for a, b in [(1, 2), (2, 3), (3, 4)]:\n        assert f(a) == b\n",
    ),
    py(
        "a table as three copies",
        "",
        "import pytest\n\n@pytest.mark.parametrize(('a', 'b'), [(1, 2), (2, 3), (3, 4)])\ndef test_f(a, b):\n    assert f(a) == b\n",
        COPIES,
    ),
    py(
        "a table moved to a constant",
        "",
        CASES,
        CASES.replace("[(1, 2), (2, 3), (3, 5)]", "ROWS").replace(
            "@pytest", "ROWS = [(1, 2), (2, 3), (3, 5)]\n\n@pytest"
        ),
    ),
    py(
        "a helper that asserts",
        "",
        TWO,
        "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n    check(2, 3)\n",
    ),
    py(
        "a helper written out again",
        "",
        "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n    check(2, 3)\n",
        TWO,
    ),
    py(
        "a test split in two",
        "",
        TWO,
        "def test_one():\n    assert f(1) == 2\n\ndef test_two():\n    assert f(2) == 3\n",
    ),
    py(
        "two tests made one",
        "",
        "def test_one():\n    assert f(1) == 2\n\ndef test_two():\n    assert f(2) == 3\n",
        TWO,
    ),
    py(
        "unittest to pytest",
        "",
        UNIT,
        "class TestCart:\n    def test_total(self):\n        assert total([1, 2]) == 3\n",
    ),
    py("unittest to a function", "", UNIT, "def test_total():\n    assert total([1, 2]) == 3\n"),
    py("pytest to unittest", "", "def test_total():\n    assert total([1, 2]) == 3\n", UNIT),
    py(
        "assertTrue of a comparison",
        "",
        UNIT.replace("assertEqual(total([1, 2]), 3)", "assertTrue(total([1, 2]) == 3)"),
        UNIT,
    ),
    py(
        "assertRaises to pytest.raises",
        "",
        UNIT.replace(
            "self.assertEqual(total([1, 2]), 3)",
            "with self.assertRaises(ValueError):\n            total(None)",
        ),
        "def test_total():\n    with pytest.raises(ValueError):\n        total(None)\n",
    ),
    py(
        "a fixture instead of a set-up",
        "",
        "def test_a():\n    cart = Cart()\n    cart.add(1)\n    assert cart.total == 1\n",
        "@pytest.fixture\ndef cart():\n    return Cart()\n\ndef test_a(cart):\n    cart.add(1)\n    assert cart.total == 1\n",
    ),
    py(
        "expected on the left",
        "",
        SPLIT,
        SPLIT.replace("split(100, 3) == [34, 33, 33]", "[34, 33, 33] == split(100, 3)"),
    ),
    py("a conjunction made two", "", "def test_a():\n    assert f(1) == 2 and f(2) == 3\n", TWO),
    py(
        "a stricter comparison",
        "",
        "def test_a():\n    assert f(1)\n",
        "def test_a():\n    assert f(1) == 2\n",
    ),
    py(
        "a stricter exception",
        "",
        "def test_a():\n    with pytest.raises(Exception):\n        f(0)\n",
        "def test_a():\n    with pytest.raises(ValueError, match='zero'):\n        f(0)\n",
    ),
    py(
        "floats compared as floats should be",
        "",
        "def test_a():\n    assert f(1) == 0.3\n",
        "def test_a():\n    assert f(1) == pytest.approx(0.3)\n",
    ),
    py(
        "a smaller tolerance",
        "",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, abs=0.1)\n",
        "def test_a():\n    assert f(1) == pytest.approx(0.3, abs=0.001)\n",
    ),
    py(
        "== True as lint would have it",
        "",
        "def test_a():\n    assert f(1) == True\n",
        "def test_a():\n    assert f(1)\n",
    ),
    py(
        "another place for the same file",
        "",
        "def test_a():\n    out = Path(tmp) / 'o'\n    assert out.read_text() == 'x'\n",
        "def test_a(tmp_path):\n    out = tmp_path / 'o'\n    assert out.read_text() == 'x'\n",
    ),
    py(
        "an expectation written with a case",
        "",
        "def test_a():\n    assert 'a [1]' in f()\n",
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_a(n):\n    assert f'a [{n}]' in f()\n",
    ),
    py("async", "", SPLIT, SPLIT.replace("def test_split", "@pytest.mark.asyncio\nasync def test_split")),
    py(
        "a try that ends in raise",
        "",
        SPLIT,
        SPLIT.replace(
            "    assert split(100, 3) == [34, 33, 33]",
            "    try:\n        assert split(100, 3) == [34, 33, 33]\n    except AssertionError:\n        dump()\n        raise",
        ),
    ),
    py(
        "an inner function that is called",
        "",
        SPLIT,
        SPLIT.replace(
            "    assert split(100, 3) == [34, 33, 33]",
            "    def check():\n        assert split(100, 3) == [34, 33, 33]\n    check()",
        ),
    ),
    py(
        "a smoke test renamed",
        "",
        "def test_a():\n    main(['--help'])\n",
        "def test_help():\n    main(['--help'])\n",
    ),
    py(
        "a class made of functions",
        "",
        TWO,
        "class TestF:\n    def test_a(self):\n        assert f(1) == 2\n        assert f(2) == 3\n",
    ),
    Honest("python: a file renamed", {"tests/test_a.py": SPLIT}, {"tests/test_money.py": SPLIT}),
    Honest(
        "python: a test moved to another file",
        {"tests/test_a.py": SPLIT + "\n\ndef test_b():\n    assert g(7) == 8\n", "tests/test_b.py": TWO},
        {"tests/test_a.py": SPLIT, "tests/test_b.py": TWO + "\n\ndef test_b():\n    assert g(7) == 8\n"},
    ),
    Honest(
        "python: a file split in two",
        {"tests/test_a.py": COPIES},
        {f"tests/test_{n}.py": f"def test_{n}():\n    assert f({n}) == {n + 1}\n" for n in (1, 2, 3)},
    ),
    Honest(
        "python: a helper moved to its own file",
        {"tests/test_a.py": "def check(a, b):\n    assert f(a) == b\n\ndef test_a():\n    check(1, 2)\n"},
        {
            "tests/test_a.py": "from helpers import check\n\ndef test_a():\n    check(1, 2)\n",
            "tests/helpers.py": "def check(a, b):\n    assert f(a) == b\n",
        },
    ),
    Honest("python: a new test file", {}, {"tests/test_a.py": SPLIT}),
    Honest(
        "python: a conftest with a fixture",
        {},
        {"tests/conftest.py": "import pytest\n\n@pytest.fixture\ndef totals():\n    return [0, 1]\n"},
    ),
]

OTHERS: list[Pair | Honest] = [
    js(
        "an import that is global anyway",
        "",
        "const Buffer = require('node:buffer').Buffer\nit('a', () => { expect(f(Buffer.from('x'))).toBe(1); });\n",
        "it('a', () => { expect(f(Buffer.from('x'))).toBe(1); });\n",
    ),
    js(
        "responses in another order",
        "",
        "get('/').expect('Vary', 'x').expect(200, done);",
        "get('/').expect(200).expect('Vary', 'x', done);",
    ),
    js("semicolons and quotes", "", "expect(f('a')).toBe('b');", 'expect(f("a")).toBe("b")'),
    js(
        "a renamed test",
        "",
        'it("adds", () => { expect(add(1, 2)).toBe(3); });\n',
        'it("adds two numbers", () => { expect(add(1, 2)).toBe(3); });\n',
    ),
    js(
        "grouped under describe",
        "",
        'it("adds", () => { expect(add(1, 2)).toBe(3); });\n',
        'describe("add", () => {\n  it("adds", () => { expect(add(1, 2)).toBe(3); });\n});\n',
    ),
    js("toEqual for toBe", "", "expect(add(1, 2)).toBe(3);", "expect(add(1, 2)).toEqual(3);"),
    js("node:assert to jest", "", "assert.strictEqual(add(1, 2), 3);", "expect(add(1, 2)).toBe(3);"),
    js(
        "a callback made async",
        "",
        'it("adds", () => { expect(add(1, 2)).toBe(3); });\n',
        'it("adds", async () => { await ready(); expect(add(1, 2)).toBe(3); });\n',
    ),
    js(
        "copies in a table",
        "",
        'it("a", () => { expect(f(1)).toBe(2); });\nit("b", () => { expect(f(2)).toBe(3); });\n',
        'it.each([[1, 2], [2, 3]])("f %s", (a, b) => { expect(f(a)).toBe(b); });\n',
    ),
    js(
        "an added test",
        "",
        'it("a", () => { expect(f(1)).toBe(2); });\n',
        'it("a", () => { expect(f(1)).toBe(2); });\nit("b", () => { expect(f(2)).toBe(3); });\n',
    ),
    ts(
        "a type annotation",
        "",
        "const r = add(1, 2);\n  expect(r).toBe(3);",
        "const r: number = add(1, 2);\n  expect(r).toBe(3);",
    ),
    ts(
        "a renamed variable",
        "",
        "const r = add(1, 2);\n  expect(r).toBe(3);",
        "const sum = add(1, 2);\n  expect(sum).toBe(3);",
    ),
    go(
        "to testify",
        "",
        'if got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}',
        "assert.Equal(t, 3, Add(1, 2))",
    ),
    go(
        "another message",
        "",
        'if got := Add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}',
        'if got := Add(1, 2); got != 3 {\n\t\tt.Fatalf("Add(1, 2) = %d, want 3", got)\n\t}',
    ),
    go(
        "an added case",
        "",
        "for _, tt := range []struct{ a, want int }{{1, 2}} {\n\t\tif F(tt.a) != tt.want {\n\t\t\tt.Error()\n\t\t}\n\t}",
        "for _, tt := range []struct{ a, want int }{{1, 2}, {2, 3}} {\n\t\tif F(tt.a) != tt.want {\n\t\t\tt.Error()\n\t\t}\n\t}",
    ),
    go(
        "as a subtest",
        "",
        'if Add(1, 2) != 3 {\n\t\tt.Error("wrong")\n\t}',
        't.Run("sum", func(t *testing.T) {\n\t\tif Add(1, 2) != 3 {\n\t\t\tt.Error("wrong")\n\t\t}\n\t})',
    ),
    rust("a message", "", "assert_eq!(add(1, 2), 3);", 'assert_eq!(add(1, 2), 3, "one and two");'),
    rust(
        "a renamed test",
        "",
        "assert_eq!(add(1, 2), 3);",
        "#[test]\nfn adds_two() {\n    assert_eq!(add(1, 2), 3);\n}\n",
    ),
    rust("assert of equality to assert_eq", "", "assert!(add(1, 2) == 3);", "assert_eq!(add(1, 2), 3);"),
    java(
        "a renamed test",
        "",
        "assertEquals(3, add(1, 2));",
        "@Test\n  void addsTwo() {\n    assertEquals(3, add(1, 2));\n  }",
    ),
    java("to AssertJ", "", "assertEquals(3, add(1, 2));", "assertThat(add(1, 2)).isEqualTo(3);"),
    java("a message", "", "assertEquals(3, add(1, 2));", 'assertEquals(3, add(1, 2), "one and two");'),
    ruby(
        "minitest to spec",
        "",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        'describe "cart" do\n  it "adds" do\n    _(add(1, 2)).must_equal 3\n  end\nend\n',
    ),
    ruby(
        "parentheses",
        "",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n",
        "class CartTest < Minitest::Test\n  def test_add\n    assert_equal(3, add(1, 2))\n  end\nend\n",
    ),
    one(
        "tests/cart.bats",
        "bats",
        "an added line",
        "",
        '@test "adds" {\n  assert_success\n}\n',
        '@test "adds" {\n  assert_success\n  assert_equal "$(add 1 2)" 3\n}\n',
    ),
    one(
        "CartTests.swift",
        "swift",
        "another order",
        "",
        "func testAdd() {\n  XCTAssertEqual(add(1, 2), 3)\n  XCTAssertTrue(ok)\n}\n",
        "func testAdd() {\n  XCTAssertTrue(ok)\n  XCTAssertEqual(add(1, 2), 3)\n}\n",
    ),
]

HONEST = [Honest(pair.name, pair.before, pair.after) for rows in (PYTHON, OTHERS) for pair in rows]
