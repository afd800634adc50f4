"""Pairs of test files, before and after: ways to switch a test off, and what only looks like one."""

from __future__ import annotations

from typing import NamedTuple

from weakened import SPLIT, UNIT, Files, go, java, js, one, py, ruby, rust, ts

IT = 'it("adds", () => { expect(add(1, 2)).toBe(3); });\n'
TEST = 'test("adds", () => { assert.equal(add(1, 2), 3); });\n'
SPEC = 'describe "cart" do\n  it "adds" do\n    expect(add(1, 2)).to eq(3)\n  end\nend\n'
MINI = "class CartTest < Minitest::Test\n  def test_add\n    assert_equal 3, add(1, 2)\n  end\nend\n"
GO = "assert.Equal(t, 3, Add(1, 2))"
RUST = "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n"
JAVA = "@Test\n  void adds() {\n    assertEquals(3, add(1, 2));\n  }"


def marked(mark: str) -> str:
    return SPLIT.replace("def test_split", f"{mark}\ndef test_split")


def first(line: str) -> str:
    return SPLIT.replace("    assert", f"    {line}\n    assert")


# The last word says whether the finding must call it conditional.
SKIPPED = [
    py("mark.skip", "always", SPLIT, marked('@pytest.mark.skip(reason="flaky")')),
    py("mark.skip without a reason", "always", SPLIT, marked("@pytest.mark.skip")),
    py("mark.skipif", "condition", SPLIT, marked("@pytest.mark.skipif(True, reason='slow')")),
    py("mark.xfail", "always", SPLIT, marked("@pytest.mark.xfail(strict=False)")),
    py(
        "mark by another name",
        "always",
        "from pytest import mark\n" + SPLIT,
        "from pytest import mark\n" + marked("@mark.skip"),
    ),
    py(
        "pytest by another name",
        "always",
        "import pytest as pt\n" + SPLIT,
        "import pytest as pt\n" + marked("@pt.mark.skip"),
    ),
    py(
        "pytestmark",
        "always",
        SPLIT,
        SPLIT.replace("def test", "pytestmark = pytest.mark.skip('later')\n\ndef test"),
    ),
    py(
        "a marker that has a name",
        "condition",
        "slow = pytest.mark.skipif(True, reason='x')\n" + SPLIT,
        "slow = pytest.mark.skipif(True, reason='x')\n" + marked("@slow"),
    ),
    py(
        "a list of marks",
        "always",
        SPLIT,
        SPLIT.replace("def test", "pytestmark = [pytest.mark.skip]\n\ndef test"),
    ),
    py("skip in the body", "always", SPLIT, first("pytest.skip('later')")),
    py(
        "skip imported",
        "always",
        "from pytest import skip\n" + SPLIT,
        "from pytest import skip\n" + first("skip('later')"),
    ),
    py("skip on a condition", "condition", SPLIT, first("if slow():\n        pytest.skip('later')")),
    py("xfail in the body", "always", SPLIT, first("pytest.xfail('later')")),
    py(
        "importorskip of nothing",
        "condition",
        SPLIT,
        SPLIT.replace("def test", "x = pytest.importorskip('numpy_fast_ext')\n\ndef test"),
    ),
    py(
        "a module-level skip",
        "always",
        SPLIT,
        SPLIT.replace("def test", "pytest.skip('no', allow_module_level=True)\n\ndef test"),
    ),
    py("the file leaves", "always", SPLIT, SPLIT.replace("def test", "sys.exit(0)\n\ndef test")),
    py(
        "unittest.skip",
        "always",
        UNIT,
        UNIT.replace("    def test", "    @unittest.skip('later')\n    def test"),
    ),
    py(
        "unittest.skipIf",
        "condition",
        UNIT,
        UNIT.replace("    def test", "    @unittest.skipIf(True, 'later')\n    def test"),
    ),
    py(
        "expectedFailure",
        "always",
        UNIT,
        UNIT.replace("    def test", "    @unittest.expectedFailure\n    def test"),
    ),
    py("a class skipped", "always", UNIT, UNIT.replace("class", "@unittest.skip('later')\nclass")),
    py(
        "self.skipTest",
        "always",
        UNIT,
        UNIT.replace("        self.assert", "        self.skipTest('later')\n        self.assert"),
    ),
    py(
        "SkipTest raised",
        "always",
        UNIT,
        UNIT.replace("        self.assert", "        raise unittest.SkipTest('later')\n        self.assert"),
    ),
    py("__test__", "always", UNIT, UNIT.replace("    def test", "    __test__ = False\n\n    def test")),
    py(
        "a case marked",
        "always",
        "@pytest.mark.parametrize('a', [1, 2])\ndef test_f(a):\n    assert f(a)\n",
        "@pytest.mark.parametrize('a', [1, pytest.param(2, marks=pytest.mark.skip)])\ndef test_f(a):\n    assert f(a)\n",
    ),
    py(
        "one more test of two",
        "always",
        marked("@pytest.mark.skip") + "\n\ndef test_b():\n    assert g(1) == 1\n",
        marked("@pytest.mark.skip") + "\n\n@pytest.mark.skip\ndef test_b():\n    assert g(1) == 1\n",
    ),
    py(
        "a skip that changed tests",
        "always",
        marked("@pytest.mark.skip") + "\n\ndef test_b():\n    assert g(1) == 1\n",
        SPLIT + "\n\n@pytest.mark.skip\ndef test_b():\n    assert g(1) == 1\n",
    ),
    py(
        "a condition that became always",
        "always",
        marked("@pytest.mark.skipif(win, reason='x')"),
        marked("@pytest.mark.skip(reason='x')"),
    ),
    py(
        "a class instead of a test",
        "always",
        "class TestA:\n    @pytest.mark.skip\n    def test_a(self):\n        assert f(1)\n\n    def test_b(self):\n        assert g(1)\n",
        "@pytest.mark.skip\nclass TestA:\n    @pytest.mark.skip\n    def test_a(self):\n        assert f(1)\n\n    def test_b(self):\n        assert g(1)\n",
    ),
    one("tests/conftest.py", "python", "collect_ignore", "always", "", "collect_ignore = ['test_a.py']\n"),
    one(
        "tests/conftest.py",
        "python",
        "a hook that deselects",
        "condition",
        "",
        "def pytest_collection_modifyitems(items):\n    items[:] = items[1:]\n",
    ),
    js("it.skip", "always", IT, IT.replace("it(", "it.skip(")),
    js("xit", "always", IT, IT.replace("it(", "xit(")),
    js(
        "describe.skip",
        "always",
        f'describe("cart", () => {{ {IT} }});',
        f'describe.skip("cart", () => {{ {IT} }});',
    ),
    js(
        "xdescribe", "always", f'describe("cart", () => {{ {IT} }});', f'xdescribe("cart", () => {{ {IT} }});'
    ),
    js("test.todo", "always", TEST, 'test.todo("adds");\n// test('),
    js("test.failing", "always", TEST, TEST.replace("test(", "test.failing(")),
    js("only the other one", "always", IT + TEST, IT.replace("it(", "it.only(") + TEST),
    js("focus on the other one", "always", IT + TEST, IT.replace("it(", "fit(") + TEST),
    js("node's skip option", "always", TEST, TEST.replace('"adds", ', '"adds", { skip: true }, ')),
    js("node's todo option", "always", TEST, TEST.replace('"adds", ', '"adds", { todo: "later" }, ')),
    js(
        "this.skip",
        "always",
        'it("adds", function () { expect(add(1, 2)).toBe(3); });\n',
        'it("adds", function () { this.skip(); expect(add(1, 2)).toBe(3); });\n',
    ),
    js("skipIf", "condition", IT, IT.replace("it(", "it.skipIf(process.env.CI)(")),
    js(
        "each skipped",
        "always",
        'it.each([1, 2])("f %s", (a) => { expect(f(a)).toBe(a); });\n',
        'it.skip.each([1, 2])("f %s", (a) => { expect(f(a)).toBe(a); });\n',
    ),
    js("a title without a body", "always", IT, 'it("adds");\n'),
    ts("it.skip", "always", IT, IT.replace("it(", "it.skip(")),
    go("t.Skip", "always", GO, f't.Skip("later")\n\t{GO}'),
    go("t.SkipNow", "always", GO, f"t.SkipNow()\n\t{GO}"),
    go("when short", "condition", GO, f'if testing.Short() {{\n\t\tt.Skip("later")\n\t}}\n\t{GO}'),
    one(
        "a_test.go",
        "go",
        "a build tag",
        "condition",
        "package cart\n",
        "//go:build integration\n\npackage cart\n",
    ),
    one(
        "a_test.go",
        "go",
        "ignored by the build",
        "always",
        "package cart\n",
        "//go:build ignore\n\npackage cart\n",
    ),
    rust("ignore", "always", RUST, RUST.replace("fn", "#[ignore]\nfn")),
    rust("ignore with a reason", "always", RUST, RUST.replace("fn", '#[ignore = "later"]\nfn')),
    rust("should_panic", "always", RUST, RUST.replace("fn", "#[should_panic]\nfn")),
    rust("cfg of nothing", "always", RUST, RUST.replace("#[test]", "#[cfg(any())]\n#[test]")),
    rust("cfg of a feature", "condition", RUST, RUST.replace("#[test]", '#[cfg(feature = "slow")]\n#[test]')),
    java("Disabled", "always", JAVA, JAVA.replace("@Test", "@Disabled\n  @Test")),
    java("Disabled with a reason", "always", JAVA, JAVA.replace("@Test", '@Disabled("later")\n  @Test')),
    java("Ignore", "always", JAVA, JAVA.replace("@Test", "@Ignore\n  @Test")),
    java("on another system", "condition", JAVA, JAVA.replace("@Test", "@EnabledOnOs(OS.WINDOWS)\n  @Test")),
    java(
        "assumeTrue", "condition", JAVA, JAVA.replace("assertEquals", "assumeTrue(false);\n    assertEquals")
    ),
    java("TestNG's enabled", "always", JAVA, JAVA.replace("@Test", "@Test(enabled = false)")),
    ruby("skip", "always", MINI, MINI.replace("    assert", '    skip "later"\n    assert')),
    ruby("skip without a word", "always", MINI, MINI.replace("    assert", "    skip\n    assert")),
    ruby(
        "skip on a condition",
        "condition",
        MINI,
        MINI.replace("    assert", '    skip "later" if slow\n    assert'),
    ),
    ruby("pending", "always", SPEC, SPEC.replace("    expect", '    pending "later"\n    expect')),
    ruby("xit", "always", SPEC, SPEC.replace("it ", "xit ")),
    ruby("xdescribe", "always", SPEC, SPEC.replace("describe", "xdescribe")),
    ruby("skip: true", "always", SPEC, SPEC.replace('"adds" do', '"adds", skip: true do')),
    ruby(":skip", "always", SPEC, SPEC.replace('"adds" do', '"adds", :skip do')),
    one(
        "tests/cart.bats",
        "bats",
        "a line that skips",
        "always",
        '@test "adds" {\n  assert_success\n}\n',
        '@test "adds" {\n  skip "later"\n  assert_success\n}\n',
    ),
    one(
        "CartTest.php",
        "php",
        "a line that skips",
        "always",
        "<?php\nfunction testAdd() {\n}\n",
        "<?php\nfunction testAdd() {\n  $this->skip('later');\n}\n",
    ),
]


class NotSkipped(NamedTuple):
    name: str
    before: Files
    after: Files


_SAME = [
    py(
        "a skip that stays",
        "",
        marked("@pytest.mark.skip"),
        marked("@pytest.mark.skip") + "\n\ndef test_b():\n    assert g(1) == 1\n",
    ),
    py("a skip that goes", "", marked("@pytest.mark.skip"), SPLIT),
    py(
        "a skipped test renamed",
        "",
        marked("@pytest.mark.skip"),
        marked("@pytest.mark.skip").replace("test_split", "test_remainder"),
    ),
    py("the word in a string", "", SPLIT, first('print("pytest.mark.skip")')),
    py("the word in a comment", "", SPLIT, first("# pytest.skip('later')")),
    py("the word as a name", "", SPLIT, first("skip = 3")),
    py(
        "always became on a condition",
        "",
        marked("@pytest.mark.skip(reason='x')"),
        marked("@pytest.mark.skipif(win, reason='x')"),
    ),
    py("another marker", "", SPLIT, marked("@pytest.mark.slow")),
    py(
        "leaving inside a test",
        "",
        SPLIT,
        SPLIT + "\n\ndef test_b():\n    with pytest.raises(SystemExit):\n        sys.exit(2)\n",
    ),
    py("a marker that is only given a name", "", SPLIT, "slow = pytest.mark.skip('x')\n" + SPLIT),
    js(
        "a request called test",
        "",
        'it("a", () => { const test = get("/"); test.expect(200, done); });\n',
        'it("a", () => { const test = get("/"); test.expect("Vary", "x"); test.expect(200, done); });\n',
    ),
    js("the word as a method", "", IT, IT.replace("expect", "rows.skip(2); expect")),
    js("an option that is false", "", TEST, TEST.replace('"adds", ', '"adds", { skip: false }, ')),
    rust(
        "a new test that must panic",
        "",
        RUST,
        RUST + "\n#[test]\n#[should_panic]\nfn fails() {\n    add_checked(1, 2);\n}\n",
    ),
    rust("cfg(test)", "", RUST, RUST + "\n#[cfg(test)]\nfn extra() {}\n"),
    go("the word as a method", "", GO, f"list.Next()\n\t{GO}"),
]
NOT_SKIPPED = [
    *(NotSkipped(pair.name, pair.before, pair.after) for pair in _SAME),
    NotSkipped(
        "python: a skipped test moved to another file",
        {"tests/test_a.py": marked("@pytest.mark.skip"), "tests/test_b.py": "x = 1\n"},
        {"tests/test_a.py": "x = 1\n", "tests/test_b.py": marked("@pytest.mark.skip")},
    ),
    NotSkipped(
        "python: a skipped file renamed",
        {"tests/test_a.py": "pytestmark = pytest.mark.skip\n"},
        {"tests/test_b.py": "pytestmark = pytest.mark.skip\n"},
    ),
]
